// What Python sees of the rules. Names and meanings are those of python-chess wherever both have the same
// thing. Only the files called bindings know nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bench/bench.h"
#include "board/perft.h"
#include "board/position.h"
#include "board/san.h"
#include "util/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace selfmate {

void bind_search(nb::module_& m);  // bindings_search.cpp
void bind_pool(nb::module_& m);    // bindings_pool.cpp
void bind_net(nb::module_& m);     // bindings_net.cpp

namespace {

std::string_view text_of(nb::str text) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data) {
        PyErr_Clear();  // lone surrogates: no such byte stands in any notation
        return "\x7f";
    }
    return {data, static_cast<std::size_t>(size)};
}

// White is True and Black is False, as in python-chess.
bool to_python(Color color) { return color == WHITE; }
Color to_color(bool white) { return white ? WHITE : BLACK; }

std::optional<int> optional_square(Square square) { return square == NO_SQUARE ? std::nullopt : std::optional(square); }

std::vector<int> squares_of(Bitboard set) {
    std::vector<int> squares;
    while (set) squares.push_back(take_first(set));
    return squares;
}

Square checked_square(int square, const Variant& variant) {
    if (square < 0 || square >= 64 || !contains(variant.board, square))
        throw nb::index_error(("no square " + std::to_string(square) + " on a board of " +
                               std::to_string(variant.files) + "x" + std::to_string(variant.ranks))
                                  .c_str());
    return square;
}

std::optional<std::string> piece_at(const State& state, Square square) {
    const Role role = state.role_at(square);
    if (role == NO_ROLE) return std::nullopt;
    return std::string(1, piece_letter(state.color_at(square), role));
}

std::pair<Color, Role> parse_piece(std::string_view piece) {
    if (piece.size() == 1) {
        const bool white = piece[0] >= 'A' && piece[0] <= 'Z';
        const Role role = role_of(white ? char(piece[0] - 'A' + 'a') : piece[0]);
        if (role != NO_ROLE) return {white ? WHITE : BLACK, role};
    }
    throw Error("SetupError", in_quotes(piece) + " is not a piece; pieces are P N B R Q K and p n b r q k",
                piece.substr(0, 40));
}

std::optional<std::tuple<int, int>> checks_left(const Variant& variant, const State& state) {
    if (!variant.counts_checks) return std::nullopt;
    return std::tuple<int, int>(state.checks_left[WHITE], state.checks_left[BLACK]);
}

std::uint16_t checked_clock(long value, long least) {
    if (value < least || value > 9999)
        throw Error("BadClock", "a clock goes from " + std::to_string(least) + " to 9999, not " + std::to_string(value),
                    std::to_string(value));
    return static_cast<std::uint16_t>(value);
}

std::vector<Move> to_vector(const MoveList& moves) { return {moves.begin(), moves.end()}; }

std::string full_name(const Variant& variant, bool chess960) {
    return std::string(variant.name) + (chess960 ? "960" : "");
}

// Runs native work without the GIL; Ctrl-C ends it.
template <class Work>
auto interruptible(Work work) {
    bool interrupted = false;
    const auto poll = [&] {
        nb::gil_scoped_acquire hold;
        if (!interrupted) interrupted = PyErr_CheckSignals() != 0;  // asked again while the workers stop
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

void raise(const Error& error) {
    const nb::object part =
        nb::steal(PyUnicode_DecodeUTF8(error.part().data(), static_cast<Py_ssize_t>(error.part().size()), "replace"));
    const nb::object kind = nb::module_::import_("selfmate.errors").attr(error.kind());
    const bool unknown_variant = std::string_view(error.kind()) == "UnknownVariant";  // Python knows the nearest name
    const nb::object raised = unknown_variant ? kind.attr("named")(part, variant_names()) : kind(error.what(), part);
    PyErr_SetObject(kind.ptr(), raised.ptr());
}

void bind_move(nb::module_& m) {
    nb::class_<Move>(m, "Move",
                     "From, to and promotion: a value that can be compared and hashed.\n\n"
                     ">>> Move.from_uci('a7a8q').promotion == QUEEN\n"
                     "True\n")
        .def(
            "__init__",
            [](Move* self, int from, int to, std::optional<int> promotion) {
                if (from < 0 || from > 63 || to < 0 || to > 63) throw nb::value_error("squares go from 0 to 63");
                if (promotion && (*promotion < KNIGHT || *promotion > KING))
                    throw nb::value_error("a pawn becomes a KNIGHT, BISHOP, ROOK, QUEEN or KING");
                new (self) Move(from, to, Role(promotion.value_or(NO_ROLE)));
            },
            "from_square"_a, "to_square"_a, "promotion"_a = nb::none())
        .def_static(
            "from_uci", [](nb::str uci) { return parse_move(text_of(uci)); }, "uci"_a,
            "Read a move such as ``e2e4`` or ``a7a8q``, without looking at any board.\n\n"
            ">>> Move.from_uci('e2e4').to_square\n"
            "28\n")
        .def_prop_ro("from_square", &Move::from)
        .def_prop_ro("to_square", &Move::to)
        .def_prop_ro(
            "promotion",
            [](Move self) { return self.promotion() == NO_ROLE ? std::nullopt : std::optional<int>(self.promotion()); })
        .def("uci", &write_move, "The move as from, to, promotion; castling as king takes rook (see `Position.uci`).")
        .def("__str__", &write_move)
        .def("__repr__", [](Move self) { return "Move.from_uci('" + write_move(self) + "')"; })
        .def(
            "__eq__", [](Move self, Move other) { return self == other; }, nb::is_operator())
        .def("__hash__", [](Move self) { return std::size_t(self.bits()); })
        .def("__reduce__", [](Move self) {
            return nb::make_tuple(nb::type<Move>().attr("from_uci"), nb::make_tuple(write_move(self)));
        });
}

void bind_outcome(nb::module_& m) {
    nb::enum_<Termination> termination(m, "Termination", "Why a game is over.");
    for (const Reason& reason : REASONS) termination.value(reason.name, reason.termination);
    nb::class_<Outcome>(m, "Outcome",
                        "How a game ended: who won, and why.\n\n"
                        ">>> outcome = Position('chess', '7k/5Q2/6K1/8/8/8/8/8 b - - 0 1').outcome()\n"
                        ">>> outcome.result(), outcome.reason\n"
                        "('1/2-1/2', 'stalemate')\n")
        .def_ro("termination", &Outcome::termination)
        .def_prop_ro("winner",
                     [](const Outcome& self) {
                         return self.winner == Winner::NOBODY ? std::nullopt
                                                              : std::optional(self.winner == Winner::WHITE);
                     })
        .def_prop_ro("reason", [](const Outcome& self) { return phrase(self.termination); })
        .def("result",
             [](const Outcome& self) {
                 return self.winner == Winner::NOBODY ? "1/2-1/2" : self.winner == Winner::WHITE ? "1-0" : "0-1";
             })
        .def(
            "__eq__", [](const Outcome& self, const Outcome& other) { return self == other; }, nb::is_operator())
        .def("__hash__",
             [](const Outcome& self) { return std::size_t(self.termination) * 3 + std::size_t(self.winner); })
        .def("__repr__", [](nb::handle self) {
            return nb::str("Outcome({}, winner={})").format(self.attr("termination"), self.attr("winner"));
        });
}

void bind_setup(nb::module_& m) {
    nb::class_<Setup>(m, "Setup",
                      "A position as somebody set it up, not yet checked: `Position.from_setup` does that.\n\n"
                      ">>> setup = Setup('gardner')\n"
                      ">>> setup.set_piece(0, 'K')\n"
                      ">>> setup.fen()\n"
                      "'5/5/5/5/K4 w - - 0 1'\n")
        .def(
            "__init__",
            [](Setup* self, nb::str name) {
                const VariantName variant = resolve_variant(text_of(name));
                new (self) Setup{variant.variant, variant.chess960, {}};
                if (variant.variant->counts_checks) self->state.checks_left[WHITE] = self->state.checks_left[BLACK] = 3;
            },
            "variant"_a = "chess")
        .def_static(
            "from_fen",
            [](nb::str fen, nb::str name) {
                const VariantName variant = resolve_variant(text_of(name));
                return parse_fen(*variant.variant, variant.chess960, text_of(fen));
            },
            "fen"_a, "variant"_a = "chess", "Read a FEN; only what cannot be read is an error here (`FenError`).")
        .def_prop_ro("variant", [](const Setup& self) { return self.variant->name; })
        .def_rw("chess960", &Setup::chess960)
        .def_prop_rw(
            "turn", [](const Setup& self) { return to_python(self.state.turn); },
            [](Setup& self, bool white) { self.state.turn = to_color(white); })
        .def_prop_rw(
            "castling", [](const Setup& self) { return self.state.castling; },
            [](Setup& self, Bitboard rooks) { self.state.castling = rooks; },
            "Squares of the rooks that may still castle, as a set of 64 bits.")
        .def_prop_rw(
            "ep_square", [](const Setup& self) { return optional_square(self.state.ep_square); },
            [](Setup& self, std::optional<int> square) {
                self.state.ep_square =
                    static_cast<std::uint8_t>(square ? checked_square(*square, *self.variant) : NO_SQUARE);
            },
            nb::for_setter(nb::arg("square").none()))
        .def_prop_rw(
            "halfmove_clock", [](const Setup& self) { return self.state.halfmove_clock; },
            [](Setup& self, long value) { self.state.halfmove_clock = checked_clock(value, 0); })
        .def_prop_rw(
            "fullmove_number", [](const Setup& self) { return self.state.fullmove_number; },
            [](Setup& self, long value) { self.state.fullmove_number = checked_clock(value, 1); })
        .def_prop_rw(
            "checks_left", [](const Setup& self) { return checks_left(*self.variant, self.state); },
            [](Setup& self, std::tuple<int, int> left) {
                const auto [white, black] = left;
                if (!self.variant->counts_checks || white < 0 || white > 3 || black < 0 || black > 3)
                    throw Error("BadChecks", "checks left are 0 to 3 for each side, in 3check",
                                std::to_string(white) + "+" + std::to_string(black));
                self.state.checks_left[WHITE] = static_cast<std::uint8_t>(white);
                self.state.checks_left[BLACK] = static_cast<std::uint8_t>(black);
            })
        .def(
            "piece_at",
            [](const Setup& self, int square) { return piece_at(self.state, checked_square(square, *self.variant)); },
            "square"_a)
        .def(
            "set_piece",
            [](Setup& self, int square, std::optional<nb::str> piece) {
                checked_square(square, *self.variant);
                std::optional<std::pair<Color, Role>> parsed;
                if (piece) parsed = parse_piece(text_of(*piece));
                self.state.clear(bit(square));
                if (parsed) self.state.put(parsed->first, parsed->second, square);
            },
            "square"_a, "piece"_a.none(), "Put a piece (``P``, ``k``) on a square, or clear it with None.")
        .def("fen", [](const Setup& self) {
            return write_fen(*self.variant, self.state, self.chess960 ? Castling::SHREDDER : Castling::X_FEN);
        });
}

void bind_position(nb::module_& m) {
    nb::class_<Position> position(m, "Position",
                                  "A position of any variant with the moves that led to it.\n\n"
                                  ">>> position = Position('atomic')\n"
                                  ">>> len(position.legal_moves)\n"
                                  "20\n"
                                  ">>> position.play('g1f3')\n"
                                  "Move.from_uci('g1f3')\n");
    // 1. Making one.
    position
        .def(
            "__init__",
            [](Position* self, nb::str variant, std::optional<nb::str> fen, bool lenient) {
                std::optional<std::string_view> text;
                if (fen) text = text_of(*fen);
                new (self) Position(text_of(variant), text, lenient);
            },
            "variant"_a = "chess", "fen"_a = nb::none(), nb::kw_only(), "lenient"_a = false)
        .def(nb::init<const Position&>(), "other"_a, "A copy, with its history.")
        .def_static(
            "from_setup", [](const Setup& setup, bool lenient) { return Position(setup, lenient); }, "setup"_a,
            nb::kw_only(), "lenient"_a = false,
            "Check a setup by the rules; `NoKing`, `OppositeCheck` and their like say what is wrong with it.")
        .def(
            "copy", [](const Position& self) { return Position(self); }, "A copy, with its history.")
        .def("setup", [](const Position& self) { return Setup{&self.variant(), self.chess960(), self.state()}; });

    // 2. What it is.
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
            "Set only while a legal capture en passant exists")
        .def_prop_ro(
            "checks_left", [](const Position& self) { return checks_left(self.variant(), self.state()); },
            "Checks that White and Black have still to give (3check)")
        .def_prop_ro(
            "castling", [](const Position& self) { return self.state().castling; },
            "Squares of the rooks that may still castle, as a set of 64 bits")
        .def(
            "fen",
            [](const Position& self, bool shredder) {
                return self.fen(shredder ? Castling::SHREDDER : Castling::X_FEN);
            },
            nb::kw_only(), "shredder"_a = false,
            "The position as FEN.\n\n"
            ">>> Position('gardner').fen()\n"
            "'rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1'\n")
        .def(
            "epd", [](const Position& self) { return write_epd(self.variant(), self.state(), self.own_castling()); },
            "The FEN without its clocks")
        .def(
            "board_fen", [](const Position& self) { return write_board(self.variant(), self.state()); },
            "The first field of the FEN")
        .def(
            "recomputed_key", [](const Position& self) { return ZOBRIST.of(self.state()); },
            "The key worked out from nothing; always equal to `key`")
        .def(
            "piece_at",
            [](const Position& self, int square) {
                return piece_at(self.state(), checked_square(square, self.variant()));
            },
            "square"_a,
            "The piece on a square, white in upper case.\n\n"
            ">>> Position('chess').piece_at(parse_square('e8'))\n"
            "'k'\n")
        .def(
            "pieces",
            [](const Position& self, nb::str piece) {
                const auto [color, role] = parse_piece(text_of(piece));
                return squares_of(self.state().of(color, role));
            },
            "piece"_a,
            "Squares of all pieces of a kind.\n\n"
            ">>> Position('chess').pieces('R')\n"
            "[0, 7]\n")
        .def(
            "king",
            [](const Position& self, bool color) { return optional_square(self.state().king(to_color(color))); },
            "color"_a, "Square of a side's king, or None")
        .def(
            "attackers",
            [](const Position& self, bool color, int square) {
                const State& state = self.state();
                return squares_of(state.attackers(checked_square(square, self.variant()), state.occupied()) &
                                  state.of(to_color(color)));
            },
            "color"_a, "square"_a, "Squares of a side's pieces that attack a square")
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
    position.attr("__hash__") = nb::none();  // it changes with every move

    // 3. Moves.
    position.def_prop_ro("legal_moves", [](const Position& self) { return to_vector(self.legal_moves()); })
        .def_prop_ro(
            "move_stack", [](const Position& self) { return std::vector<Move>(self.moves()); },
            "The moves played so far")
        .def("is_legal", &Position::is_legal, "move"_a)
        .def(
            "play",
            [](Position& self, Move move) {
                move = self.normalise(move);
                self.play(move);
                return move;
            },
            "move"_a,
            "Play a move, a `Move` or UCI text; castling may be written e1g1 or e1h1. Returns the move as the\n"
            "position has it. `IllegalMove` and `InvalidMove` leave the position as it was.\n\n"
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
            "Take the last move back and return it.")
        .def(
            "is_castling", [](const Position& self, Move move) { return self.is_castling(self.normalise(move)); },
            "move"_a)
        .def(
            "is_en_passant", [](const Position& self, Move move) { return self.is_en_passant(self.normalise(move)); },
            "move"_a)
        .def(
            "is_capture", [](const Position& self, Move move) { return self.is_capture(self.normalise(move)); },
            "move"_a)
        .def(
            "gives_check",
            [](const Position& self, Move move) {
                State next = self.state();
                self.variant().play(next, self.normalise(move));
                return !self.variant().has_ended(next) && self.variant().checkers(next, next.turn) != 0;
            },
            "move"_a)
        .def(
            "uci", [](const Position& self, Move move) { return self.uci(self.normalise(move)); }, "move"_a,
            "A legal move as UCI has it: castling as the king's two steps, in chess960 as king takes rook.")
        .def(
            "parse_uci", [](const Position& self, nb::str uci) { return self.parse_uci(text_of(uci)); }, "uci"_a)
        .def(
            "san", [](const Position& self, Move move) { return write_san(self, self.normalise(move)); }, "move"_a,
            "A legal move in algebraic notation.\n\n"
            ">>> Position('chess').san(Move.from_uci('g1f3'))\n"
            "'Nf3'\n")
        .def(
            "parse_san", [](const Position& self, nb::str san) { return parse_san(self, text_of(san)); }, "san"_a,
            "Read a move in algebraic notation.\n\n"
            ">>> Position('chess').parse_san('Nf3')\n"
            "Move.from_uci('g1f3')\n");

    // 4. Check, repetition, the end.
    position.def("is_check", [](const Position& self) { return self.checkers() != 0; })
        .def(
            "checkers", [](const Position& self) { return squares_of(self.checkers()); },
            "Squares of the pieces that give check")
        .def("repetitions", &Position::repetitions, "How often this position has occurred, this time included")
        .def("outcome", &Position::outcome, nb::kw_only(), "claim_draw"_a = false,
             "How the game has ended, or None while it goes on. Threefold repetition and the fifty-move rule\n"
             "count only when somebody claims them.\n\n"
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
            "Whether a side can no longer win with what is on the board");

    // 5. Counting.
    position
        .def(
            "perft",
            [](const Position& self, int depth, int threads) {
                check_counting(depth, threads);
                return interruptible(
                    [&](const Interrupted& poll) { return perft(self.variant(), self.state(), depth, threads, poll); });
            },
            "depth"_a, "threads"_a = 1,
            "Leaves of the tree of legal moves.\n\n"
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
            "depth"_a, "threads"_a = 1, "The same for each legal move: a list of (move, leaves).");
}

NB_MODULE(SELFMATE_MODULE, m) {
    m.attr("__name__") = "selfmate._core";  // one name, whichever build this is
    nb::set_leak_warnings(false);           // what Python still holds when it exits is not ours to report
    m.doc() = "The native core of Selfmate: rules, notation, counting.";
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const Error& error) {
            raise(error);
        }
    });

    m.attr("CORE") = SELFMATE_CORE_NAME;
    m.attr("WHITE") = true;
    m.attr("BLACK") = false;
    for (const auto& [name, role] : {std::pair("PAWN", PAWN), std::pair("KNIGHT", KNIGHT), std::pair("BISHOP", BISHOP),
                                     std::pair("ROOK", ROOK), std::pair("QUEEN", QUEEN), std::pair("KING", KING)})
        m.attr(name) = int(role);
    nb::list names;
    for (const Variant& variant : variants()) names.append(nb::str(variant.name.data(), variant.name.size()));
    m.attr("VARIANTS") = nb::tuple(names);

    bind_move(m);
    bind_outcome(m);
    bind_setup(m);
    bind_position(m);
    bind_search(m);
    bind_pool(m);
    bind_net(m);

    m.def(
        "square_name", [](int square) { return square_name(checked_square(square, *find_variant("chess"))); },
        "square"_a,
        ">>> square_name(28)\n"
        "'e4'\n");
    m.def(
        "parse_square",
        [](nb::str name) {
            const Square square = parse_square(*find_variant("chess"), text_of(name));
            if (square == NO_SQUARE)
                throw Error("SelfmateError", in_quotes(text_of(name)) + " is not a square like e4",
                            text_of(name).substr(0, 40));
            return square;
        },
        "name"_a,
        ">>> parse_square('e4')\n"
        "28\n");
    m.def(
        "signature",
        [] {
            nb::gil_scoped_release release;
            return signature();
        },
        "Checksum of the rules of every variant, equal on every machine (see bench/signature.txt).");
    m.def(
        "generate_rate",
        [](nb::str name, std::size_t positions, std::uint64_t seed, double seconds) {
            const VariantName variant = resolve_variant(text_of(name));
            if (!positions || positions > 10'000'000) throw nb::value_error("positions go from 1 to 10,000,000");
            nb::gil_scoped_release release;
            const Rate rate = generation_rate(*variant.variant, positions, seed, seconds);
            return std::pair(rate.positions_per_second, rate.moves_per_second);
        },
        "variant"_a, "positions"_a, "seed"_a, "seconds"_a,
        "Positions and legal moves per second that one thread writes down, over positions of random games.");
}

}  // namespace
}  // namespace selfmate
