// Python: Position.
#include "board/position.h"

#include <nanobind/operators.h>

#include "bindings/bindings.h"
#include "board/perft.h"
#include "board/san.h"

namespace selfmate {
namespace {

std::vector<int> squares_of(Bitboard set) {
    std::vector<int> squares;
    while (set) squares.push_back(take_first(set));
    return squares;
}

std::vector<Move> to_vector(const MoveList& moves) { return {moves.begin(), moves.end()}; }

std::string full_name(const Variant& variant, bool chess960) {
    return std::string(variant.name) + (chess960 ? "960" : "");
}

// Runs native work without the GIL. `work` gets a function that returns whether Ctrl-C was pressed; then
// KeyboardInterrupt is raised after it.
template <class Work>
auto interruptible(Work work) {
    bool interrupted = false;
    const auto poll = [&] {
        nb::gil_scoped_acquire hold;
        if (!interrupted) interrupted = PyErr_CheckSignals() != 0;  // polled again while the workers stop
        return interrupted;
    };
    nb::gil_scoped_release release;
    auto result = work(poll);
    if (interrupted) {
        nb::gil_scoped_acquire hold;
        throw nb::python_error();
    }
    return result;
}

void check_counting(int depth, int threads) {
    if (depth < 0 || depth > 100) throw nb::value_error("depth goes from 0 to 100");
    if (threads < 1 || threads > 1024) throw nb::value_error("threads go from 1 to 1024");
}

void bind_construction(nb::class_<Position>& position) {
    position
        .def(
            "__init__",
            [](Position* self, nb::str variant, std::optional<nb::str> fen, bool lenient) {
                std::optional<std::string_view> text;
                if (fen) text = text_of(*fen);
                new (self) Position(text_of(variant), text, lenient);
            },
            "variant"_a = "chess", "fen"_a = nb::none(), nb::kw_only(), "lenient"_a = false)
        .def(nb::init<const Position&>(), "other"_a, "Return a copy with its move stack.")
        .def_static(
            "from_setup", [](const Setup& setup, bool lenient) { return Position(setup, lenient); }, "setup"_a,
            nb::kw_only(), "lenient"_a = false,
            "Return the position of a setup. Raises a `SetupError` such as `NoKing` or `OppositeCheck` if the rules "
            "do\n"
            "not allow it.")
        .def(
            "copy", [](const Position& self) { return Position(self); }, "Return a copy with its move stack.")
        .def("setup", [](const Position& self) {
            return Setup{.variant = &self.variant(), .chess960 = self.chess960(), .state = self.state()};
        });
}

void bind_properties(nb::class_<Position>& position) {
    position.def_prop_ro("variant", [](const Position& self) { return self.variant().name; })
        .def_prop_ro("chess960", &Position::chess960)
        .def_prop_ro("files", [](const Position& self) { return self.variant().files; })
        .def_prop_ro("ranks", [](const Position& self) { return self.variant().ranks; })
        .def_prop_ro(
            "turn", [](const Position& self) { return to_python(self.state().turn); }, "WHITE (True) or BLACK (False)")
        .def_prop_ro(
            "key", [](const Position& self) { return self.state().key; }, "Zobrist key of the position")
        .def_prop_ro("fullmove_number", [](const Position& self) { return self.state().fullmove_number; })
        .def_prop_ro("halfmove_clock", [](const Position& self) { return self.state().halfmove_clock; })
        .def_prop_ro(
            "ep_square", [](const Position& self) { return optional_square(self.state().ep_square); },
            "The en passant square if a legal en passant capture exists, else None")
        .def_prop_ro(
            "checks_left", [](const Position& self) { return checks_left(self.variant(), self.state()); },
            "Checks that White and Black still have to give, where checks win, else None")
        .def_prop_ro(
            "castling", [](const Position& self) { return self.state().castling; },
            "Squares of the rooks that may still castle, as a bitboard")
        .def(
            "fen",
            [](const Position& self, bool shredder) {
                return self.fen(shredder ? Castling::SHREDDER : Castling::X_FEN);
            },
            nb::kw_only(), "shredder"_a = false,
            "Return the FEN.\n\n"
            ">>> Position('gardner').fen()\n"
            "'rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1'\n")
        .def(
            "epd", [](const Position& self) { return write_epd(self.variant(), self.state(), self.own_castling()); },
            "Return the FEN without its clocks.")
        .def(
            "board_fen", [](const Position& self) { return write_board(self.variant(), self.state()); },
            "Return the first field of the FEN.")
        .def(
            "recomputed_key", [](const Position& self) { return ZOBRIST.of(self.state()); },
            "Return the key computed from scratch; always equal to `key`.")
        .def(
            "piece_at",
            [](const Position& self, int square) {
                return piece_at(self.state(), checked_square(square, self.variant()));
            },
            "square"_a,
            "Return the piece on a square, white in upper case, or None.\n\n"
            ">>> Position('chess').piece_at(parse_square('e8'))\n"
            "'k'\n")
        .def(
            "pieces",
            [](const Position& self, nb::str piece) {
                const auto [color, role] = parse_piece(text_of(piece));
                return squares_of(self.state().of(color, role));
            },
            "piece"_a,
            "Return the squares of all pieces of a colour and role.\n\n"
            ">>> Position('chess').pieces('R')\n"
            "[0, 7]\n")
        .def(
            "king",
            [](const Position& self, bool color) { return optional_square(self.state().king(to_color(color))); },
            "color"_a, "Return the square of a side's king, or None.")
        .def(
            "attackers",
            [](const Position& self, bool color, int square) {
                const State& state = self.state();
                return squares_of(state.attackers(checked_square(square, self.variant()), state.occupied()) &
                                  state.of(to_color(color)));
            },
            "color"_a, "square"_a, "Return the squares of a side's pieces that attack a square.")
        .def(
            "__eq__",
            [](const Position& self, const Position& other) {
                return &self.variant() == &other.variant() && self.chess960() == other.chess960() &&
                       self.fen(Castling::SHREDDER) == other.fen(Castling::SHREDDER);
            },
            nb::is_operator())
        .def("__str__", &Position::text_board)
        .def("__repr__", [](const Position& self) {
            return "Position('" + full_name(self.variant(), self.chess960()) + "', '" + self.fen(Castling::X_FEN) +
                   "')";
        });
    position.attr("__hash__") = nb::none();  // mutable
}

void bind_moves(nb::class_<Position>& position) {
    position.def_prop_ro("legal_moves", [](const Position& self) { return to_vector(self.legal_moves()); })
        .def_prop_ro(
            "move_stack", [](const Position& self) { return std::vector<Move>(self.moves()); },
            "The moves so far, oldest first")
        .def("is_legal", &Position::is_legal, "move"_a)
        .def(
            "play",
            [](Position& self, Move move) {
                move = self.playable(move);
                self.play(move);
                return move;
            },
            "move"_a,
            "Play a `Move` or UCI text and return the normalised move; castling may be written e1g1 or e1h1. The null\n"
            "move `Move.null()` passes; it is not among the legal moves, and not allowed in check. Raises\n"
            "`IllegalMove` or `InvalidMove` and leaves the position unchanged.\n\n"
            ">>> position = Position('chess', 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1')\n"
            ">>> position.play('e1g1')\n"
            "Move.from_uci('e1h1')\n"
            ">>> position.fen()\n"
            "'r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1'\n")
        .def(
            "play",
            [](Position& self, nb::str uci) {
                const Move move = self.parse_uci(text_of(uci));
                self.play(move);
                return move;
            },
            "move"_a)
        .def(
            "undo",
            [](Position& self) {
                if (self.moves().empty()) throw nb::index_error("no move to take back");
                return self.undo();
            },
            "Take the last move back and return it. Raises IndexError without moves.")
        .def(
            "is_castling", [](const Position& self, Move move) { return self.is_castling(self.playable(move)); },
            "move"_a)
        .def(
            "is_en_passant", [](const Position& self, Move move) { return self.is_en_passant(self.playable(move)); },
            "move"_a)
        .def(
            "is_capture", [](const Position& self, Move move) { return self.is_capture(self.playable(move)); },
            "move"_a)
        .def(
            "gives_check",
            [](const Position& self, Move move) {
                State next = self.state();
                move = self.playable(move);
                if (move.is_null()) return false;
                self.variant().play(next, move);
                return self.variant().checkers(next, next.turn) != 0;
            },
            "move"_a, "Return whether a legal move gives check, also where it ends the game.")
        .def(
            "uci", [](const Position& self, Move move) { return self.uci(self.playable(move)); }, "move"_a,
            "Return the UCI text of a legal move: castling as the king's two steps, in chess960 as king takes rook.")
        .def(
            "parse_uci", [](const Position& self, nb::str uci) { return self.parse_uci(text_of(uci)); }, "uci"_a)
        .def(
            "san", [](const Position& self, Move move) { return write_san(self, self.playable(move)); }, "move"_a,
            "Return the SAN of a legal move.\n\n"
            ">>> Position('chess').san(Move.from_uci('g1f3'))\n"
            "'Nf3'\n")
        .def(
            "parse_san", [](const Position& self, nb::str san) { return parse_san(self, text_of(san)); }, "san"_a,
            "Return the legal move of a SAN. Raises InvalidSan, AmbiguousSan or IllegalSan.\n\n"
            ">>> Position('chess').parse_san('Nf3')\n"
            "Move.from_uci('g1f3')\n")
        .def(
            "play_san",
            [](Position& self, nb::str san) {
                const Move move = parse_san(self, text_of(san));
                self.play(move);
                return move;
            },
            "san"_a, "Play the legal move of a SAN and return it. Raises as `parse_san`.");
}

void bind_end(nb::class_<Position>& position) {
    position.def("is_check", [](const Position& self) { return self.checkers() != 0; })
        .def(
            "checkers", [](const Position& self) { return squares_of(self.checkers()); },
            "Return the squares of the pieces that give check.")
        .def("repetitions", &Position::repetitions, "Return how often this position has occurred, including this time.")
        .def("outcome", &Position::outcome, nb::kw_only(), "claim_draw"_a = false,
             "Return the outcome of the game, or None if it is not over. Threefold repetition and the fifty-move rule\n"
             "count only with `claim_draw`.\n\n"
             ">>> position = Position('atomic', 'rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3')\n"
             ">>> _ = position.play('e5f7')\n"
             ">>> position.outcome().reason, position.outcome().result()\n"
             "('king exploded', '1-0')\n")
        .def(
            "is_game_over", [](const Position& self, bool claim_draw) { return self.outcome(claim_draw).has_value(); },
            nb::kw_only(), "claim_draw"_a = false)
        .def(
            "has_insufficient_material",
            [](const Position& self, bool color) { return self.cannot_win(to_color(color)); }, "color"_a,
            "Return whether a side cannot win with the material on the board.");
}

void bind_perft(nb::class_<Position>& position) {
    position
        .def(
            "perft",
            [](const Position& self, int depth, int threads) {
                check_counting(depth, threads);
                return interruptible(
                    [&](const Interrupted& poll) { return perft(self.variant(), self.state(), depth, threads, poll); });
            },
            "depth"_a, "threads"_a = 1,
            "Return the number of leaves of the tree of legal moves.\n\n"
            ">>> Position('atomic').perft(4)\n"
            "197326\n")
        .def(
            "divide",
            [](const Position& self, int depth, int threads) {
                check_counting(depth, threads);
                return interruptible([&](const Interrupted& poll) {
                    return divide(self.variant(), self.state(), depth, threads, poll);
                });
            },
            "depth"_a, "threads"_a = 1, "Return [(move, leaves)] for each legal move.");
}

}  // namespace

void bind_position(nb::module_& m) {
    nb::class_<Position> position(
        m, "Position",
        "A position of any variant, with its move stack. Mutable: `play` and `undo` change it.\n\n"
        ">>> position = Position('atomic')\n"
        ">>> len(position.legal_moves)\n"
        "20\n"
        ">>> position.play('g1f3')\n"
        "Move.from_uci('g1f3')\n");
    bind_construction(position);
    bind_properties(position);
    bind_moves(position);
    bind_end(position);
    bind_perft(position);
}

}  // namespace selfmate
