// The encoder: input planes and policy indices of a net. The board is flipped for Black only here.
//
// Encoder `full`, as bitboards (bit rank * 8 + file) from the view of the side to move:
//   0-5 own pawns, knights, bishops, rooks, queens, kings; 6-11 the opponent's; 12, 13 rooks that may castle, own and
//   the opponent's; 14 the en passant square; 15 all squares if the position has occurred before in this game.
// Scalars: half-move clock / 100, checks left / checks to win (own, the opponent's), and 1 for Black in variants whose
// rules differ by colour (horde, racing kings).
//
// Policy `planes`: index = plane * squares + from-square, where a square is rank * files + file.
// Planes: eight directions times distance, eight knight jumps, then underpromotions to knight, bishop, rook
// (and king, in antichess) times three directions. Promotion to a queen is the plain move, castling is king
// takes rook.
#pragma once

#include <span>

#include "board/position.h"

namespace selfmate {

constexpr int BITBOARDS = 16;
constexpr int SCALARS = 4;
constexpr int DENSE_PLANES = BITBOARDS + SCALARS;

struct Encoding {
    std::string_view variant;
    int files, ranks, squares;
    int planes, policy_size;
    int max_moves;  // width of move arrays; legal moves beyond it get the prior 0
};
Encoding encoding_of(const Variant& variant);

// Writes bits[BITBOARDS] and scalars[SCALARS].
void encode(const Variant& variant, const State& state, bool repeated, Bitboard* bits, float* scalars);

// Writes the dense form of an encoded position, planes[DENSE_PLANES, ranks, files]: 0 or 1 on each square of a bitboard,
// then each scalar on all squares. Row 0 is the first rank of the side to move.
void write_planes(const Variant& variant, const Bitboard* bits, const float* scalars, float* planes);

// Hash of the encoder's input.
Key encoded_key(const State& state, bool repeated);

// The policy index of a legal move.
std::uint16_t move_index(const Variant& variant, Move move, Color turn);

// Writes mask[policy_size]: 1 at the given policy indices, 0 elsewhere.
void write_mask(const Encoding& encoding, std::span<const std::uint16_t> indices, std::uint8_t* mask);

// The same with left and right exchanged.
Bitboard mirror(const Variant& variant, Bitboard squares);
std::uint16_t mirror_index(const Variant& variant, std::uint16_t index);

}  // namespace selfmate
