// FEN in and out (X-FEN and Shredder-FEN), in two steps: text becomes a `Setup`, which may be anything that
// fits on the board, and a setup becomes a state only if the rules allow it.
#pragma once

#include <string>
#include <string_view>

#include "board/variant.h"

namespace selfmate {

struct Setup {
    const Variant* variant;
    bool chess960 = false;
    State state;  // as it was given; castling and en passant not yet checked, no key
};

// Throws FenError for what cannot be read.
Setup parse_fen(const Variant& variant, bool chess960, std::string_view fen);

// Throws NoKing, TooManyKings, OppositeCheck, BadCastling, BadEnPassant, … for what the rules do not allow.
// Lenient: drops castling rights and en passant squares that cannot be, and accepts a king that could be taken
// at once (in atomic it then can; elsewhere no move takes a king).
State validate(const Setup& setup, bool lenient);

enum class Castling { X_FEN, SHREDDER };
std::string write_fen(const Variant& variant, const State& state, Castling castling = Castling::X_FEN);
std::string write_epd(const Variant& variant, const State& state, Castling castling = Castling::X_FEN);
std::string write_board(const Variant& variant, const State& state);

// "a1" … as far as the board goes; NO_SQUARE for anything else.
Square parse_square(const Variant& variant, std::string_view name);

}  // namespace selfmate
