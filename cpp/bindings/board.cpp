// Python: Move, Termination, Outcome, Setup.
#include <nanobind/operators.h>

#include <algorithm>

#include "bindings/bindings.h"
#include "board/position.h"

namespace selfmate {

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
    if (!variant.checks_to_win) return std::nullopt;
    return std::tuple<int, int>(state.checks_left[WHITE], state.checks_left[BLACK]);
}

namespace {

std::uint16_t checked_clock(long value, long least) {
    if (value < least || value > 9999)
        throw Error("BadClock", "a clock goes from " + std::to_string(least) + " to 9999, not " + std::to_string(value),
                    std::to_string(value));
    return static_cast<std::uint16_t>(value);
}

void bind_move(nb::module_& m) {
    nb::class_<Move>(m, "Move",
                     "A move: origin, target and promotion. Immutable, comparable and hashable.\n\n"
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
            "from_uci", [](nb::str uci) { return text_of(uci) == "0000" ? Move::null() : parse_move(text_of(uci)); },
            "uci"_a,
            "Return the move of a UCI text such as ``e2e4`` or ``a7a8q``, which need not be legal anywhere, or the "
            "null\n"
            "move for ``0000``. Raises InvalidMove.\n\n"
            ">>> Move.from_uci('e2e4').to_square\n"
            "28\n")
        .def_static("null", &Move::null,
                    "Return the null move: the other side is to move. PGN games contain it in analyses.\n\n"
                    ">>> position = Position('chess')\n"
                    ">>> position.san(position.play(Move.null())), position.turn == BLACK\n"
                    "('--', True)\n")
        .def(
            "__bool__", [](Move self) { return !self.is_null(); }, "Return False for the null move only.")
        .def_prop_ro("from_square", &Move::from)
        .def_prop_ro("to_square", &Move::to)
        .def_prop_ro(
            "promotion",
            [](Move self) { return self.promotion() == NO_ROLE ? std::nullopt : std::optional<int>(self.promotion()); })
        .def("uci", &write_move,
             "Return origin, target and promotion as text; castling is king takes rook (see `Position.uci`).")
        .def("__str__", &write_move)
        .def("__repr__", [](Move self) { return "Move.from_uci('" + write_move(self) + "')"; })
        .def(
            "__eq__", [](Move self, Move other) { return self == other; }, nb::is_operator())
        .def("__hash__", [](Move self) { return std::size_t(self.bits()); })
        .def("__reduce__", [](Move self) {
            const nb::object promotion = self.promotion() == NO_ROLE ? nb::none() : nb::cast(int(self.promotion()));
            return nb::make_tuple(nb::type<Move>(), nb::make_tuple(self.from(), self.to(), promotion));
        });
}

void bind_outcome(nb::module_& m) {
    nb::enum_<Termination> termination(m, "Termination", "The reason for the end of a game.");
    for (const Reason& reason : REASONS) termination.value(reason.name, reason.termination);
    nb::class_<Outcome>(m, "Outcome",
                        "The end of a game: winner and termination.\n\n"
                        ">>> outcome = Position('chess', '7k/5Q2/6K1/8/8/8/8/8 b - - 0 1').outcome()\n"
                        ">>> outcome.result(), outcome.reason\n"
                        "('1/2-1/2', 'stalemate')\n")
        .def(
            "__init__",
            [](Outcome* self, Termination reason, std::optional<bool> winner) {
                new (self) Outcome{reason, !winner ? Winner::NONE : *winner ? Winner::WHITE : Winner::BLACK};
            },
            "termination"_a, "winner"_a.none() = nb::none())
        .def_ro("termination", &Outcome::termination)
        .def_prop_ro("winner",
                     [](const Outcome& self) {
                         return self.winner == Winner::NONE ? std::nullopt
                                                            : std::optional(self.winner == Winner::WHITE);
                     })
        .def_prop_ro("reason", [](const Outcome& self) { return phrase(self.termination); })
        .def("result", [](const Outcome& self) { return result_text(self.winner); })
        .def(
            "__eq__", [](const Outcome& self, const Outcome& other) { return self == other; }, nb::is_operator())
        .def("__hash__",
             [](const Outcome& self) { return std::size_t(self.termination) * 3 + std::size_t(self.winner); })
        .def("__reduce__",
             [](nb::handle self) {
                 return nb::make_tuple(nb::type<Outcome>(),
                                       nb::make_tuple(self.attr("termination"), self.attr("winner")));
             })
        .def("__repr__", [](nb::handle self) {
            return nb::str("Outcome({}, winner={})").format(self.attr("termination"), self.attr("winner"));
        });
}

// The fields of a setup for pickling: variant, pieces by square, turn, castling rooks, en passant square, clocks, checks
// left of White and Black.
using SetupFields = std::tuple<std::string, std::vector<std::pair<int, std::string>>, bool, Bitboard,
                               std::optional<int>, std::pair<long, long>, std::pair<int, int>>;

SetupFields setup_fields(const Setup& setup) {
    const State& state = setup.state;
    std::vector<std::pair<int, std::string>> pieces;
    for (Bitboard occupied = state.occupied(); occupied;) {
        const Square square = take_first(occupied);
        pieces.emplace_back(square, *piece_at(state, square));
    }
    return {std::string(setup.variant->name) + (setup.chess960 ? "960" : ""),
            pieces,
            to_python(state.turn),
            state.castling,
            optional_square(state.ep_square),
            {state.halfmove_clock, state.fullmove_number},
            {state.checks_left[WHITE], state.checks_left[BLACK]}};
}

Setup setup_of(const SetupFields& fields) {
    const auto& [name, pieces, turn, castling, ep_square, clocks, checks] = fields;
    const VariantName variant = resolve_variant(name);
    Setup setup{.variant = variant.variant, .chess960 = variant.chess960, .state = {}};
    for (const auto& [square, piece] : pieces) {
        const auto [color, role] = parse_piece(piece);
        setup.state.clear(bit(checked_square(square, *variant.variant)));
        setup.state.put(color, role, square);
    }
    setup.state.turn = to_color(turn);
    setup.state.castling = castling;
    setup.state.ep_square =
        static_cast<std::uint8_t>(ep_square ? checked_square(*ep_square, *variant.variant) : NO_SQUARE);
    setup.state.halfmove_clock = checked_clock(clocks.first, 0);
    setup.state.fullmove_number = checked_clock(clocks.second, 1);
    const int most = variant.variant->checks_to_win;
    setup.state.checks_left[WHITE] = static_cast<std::uint8_t>(std::clamp(checks.first, 0, most));
    setup.state.checks_left[BLACK] = static_cast<std::uint8_t>(std::clamp(checks.second, 0, most));
    return setup;
}

void bind_setup(nb::module_& m) {
    nb::class_<Setup>(m, "Setup",
                      "An unchecked arrangement of pieces, turn and rights; `Position.from_setup` validates it.\n\n"
                      ">>> setup = Setup('gardner')\n"
                      ">>> setup.set_piece(0, 'K')\n"
                      ">>> setup.fen()\n"
                      "'5/5/5/5/K4 w - - 0 1'\n")
        .def(
            "__init__",
            [](Setup* self, nb::str name) {
                const VariantName variant = resolve_variant(text_of(name));
                new (self) Setup{.variant = variant.variant, .chess960 = variant.chess960, .state = {}};
                self->state.checks_left[WHITE] = self->state.checks_left[BLACK] =
                    static_cast<std::uint8_t>(variant.variant->checks_to_win);
            },
            "variant"_a = "chess")
        .def_static(
            "from_fen",
            [](nb::str fen, nb::str name) {
                const VariantName variant = resolve_variant(text_of(name));
                return parse_fen(*variant.variant, variant.chess960, text_of(fen));
            },
            "fen"_a, "variant"_a = "chess", "Return the setup of a FEN. Raises `FenError` for invalid syntax only.")
        .def_prop_ro("variant", [](const Setup& self) { return self.variant->name; })
        .def_rw("chess960", &Setup::chess960)
        .def_prop_rw(
            "turn", [](const Setup& self) { return to_python(self.state.turn); },
            [](Setup& self, bool white) { self.state.turn = to_color(white); })
        .def_prop_rw(
            "castling", [](const Setup& self) { return self.state.castling; },
            [](Setup& self, Bitboard rooks) { self.state.castling = rooks; },
            "Squares of the rooks that may still castle, as a bitboard.")
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
                const int most = self.variant->checks_to_win;
                if (!most || std::min(white, black) < 0 || std::max(white, black) > most)
                    throw Error("BadChecks",
                                most ? "checks left are 0 to " + std::to_string(most) + " for each side"
                                     : "checks are not counted in " + std::string(self.variant->name),
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
            "square"_a, "piece"_a.none(), "Put a piece (``P``, ``k``) on a square, or remove it with None.")
        .def("fen",
             [](const Setup& self) {
                 return write_fen(*self.variant, self.state, self.chess960 ? Castling::SHREDDER : Castling::X_FEN);
             })
        .def("__getstate__", &setup_fields)
        .def("__setstate__", [](Setup& self, const SetupFields& fields) { new (&self) Setup(setup_of(fields)); });
}

}  // namespace

void bind_board(nb::module_& m) {
    bind_move(m);
    bind_outcome(m);
    bind_setup(m);
}

}  // namespace selfmate
