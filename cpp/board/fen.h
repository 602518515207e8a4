// Reading and writing FEN (X-FEN and Shredder-FEN). Reading has two steps: `parse_fen` turns text into a `Setup`, which
// may be any arrangement of pieces, and `validate` turns a setup into a state if the rules allow it.
#pragma once

#include <string>
#include <string_view>

#include "board/variant.h"

namespace selfmate {

struct Setup {
    const Variant* variant;
    bool chess960 = false;
    State state;  // unchecked castling rights and en passant square, no key
};

// Throws FenError for invalid syntax. Lenient: a rook that the castling rights name twice counts once.
Setup parse_fen(const Variant& variant, bool chess960, std::string_view fen, bool lenient = false);

// Throws NoKing, TooManyKings, OppositeCheck, BadCastling, BadEnPassant, … for positions that the rules do not allow.
// Lenient: drops impossible castling rights and en passant squares, and accepts a king of the side not to move that is
// attacked (no generated move captures it, except by an explosion in atomic).
State validate(const Setup& setup, bool lenient);

enum class Castling { X_FEN, SHREDDER };
std::string write_fen(const Variant& variant, const State& state, Castling castling = Castling::X_FEN);
std::string write_epd(const Variant& variant, const State& state, Castling castling = Castling::X_FEN);
std::string write_board(const Variant& variant, const State& state);

// "a1" … on the board of the variant; NO_SQUARE for any other text.
Square parse_square(const Variant& variant, std::string_view name);

}  // namespace selfmate
