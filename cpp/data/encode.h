// What a net sees and says: the one owner of input planes and of policy indices, and the one place where the
// board is turned round for Black.
//
// Encoder `full`, as sets of squares (bit rank * 8 + file) seen by the side to move:
//   0-5 own pawns, knights, bishops, rooks, queens, kings; 6-11 theirs; 12, 13 rooks that may castle, own and
//   theirs; 14 the en passant square; 15 all squares if the position has occurred before in this game.
// Scalars: half-move clock / 100, checks left / 3 (own, theirs), and 1 for Black where the colours play
// different games (horde, racing kings).
//
// Policy `planes`: index = plane * squares + from-square, squares counted rank * files + file without gaps.
// Planes: eight directions times distance, eight knight jumps, then underpromotions to knight, bishop, rook
// (and king, in antichess) times three directions. Promotion to a queen is the plain move, castling is king
// takes rook.
#pragma once

#include <span>

#include "board/position.h"

namespace selfmate {

constexpr int BITBOARDS = 16;
constexpr int SCALARS = 4;

struct Encoding {
    std::string_view variant;
    int files, ranks, squares;
    int planes, policy_size;
    int max_moves;  // a position with more legal moves is refused
};
Encoding encoding_of(const Variant& variant);

void encode(const Variant& variant, const State& state, bool repeated, Bitboard* bits, float* scalars);

// Hash of what the encoder sees.
Key encoded_key(const State& state, bool repeated);

std::uint16_t move_index(const Variant& variant, Move move, Color turn);

// Left and right exchanged.
Bitboard mirror(const Variant& variant, Bitboard squares);
std::uint16_t mirror_index(const Variant& variant, std::uint16_t index);

}  // namespace selfmate
