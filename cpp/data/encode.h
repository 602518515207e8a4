// The encoder: input planes and policy indices of a net. The board is flipped for Black only here and
// in encoders.cpp.
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
#include <string>
#include <vector>

#include "board/position.h"

namespace selfmate {

constexpr int BITBOARDS = 16;
constexpr int SCALARS = 4;
constexpr int DENSE_PLANES = BITBOARDS + SCALARS;

// Encoders and policies of other systems: see encoders.h.
enum class Encoder : std::uint8_t { FULL, PIECES12, PIECES13, PLANES16, PLANES18, PLANES21, PLANES19 };
enum class Policy : std::uint8_t { PLANES, FROMTO, FROMTO_QUEEN };

struct Encoding {
    std::string_view variant{};
    int files = 0, ranks = 0, squares = 0;
    int planes = 0, policy_size = 0;
    int max_moves = 0;  // width of move arrays; legal moves beyond it get the prior 0
    Encoder encoder = Encoder::FULL;
    Policy policy = Policy::PLANES;
    int history = 1;  // positions that the encoder sees
    int bitboards = BITBOARDS, scalars = SCALARS;

    bool is_default() const { return encoder == Encoder::FULL && policy == Policy::PLANES && history == 1; }
    bool seen_by_white() const { return encoder != Encoder::FULL && encoder != Encoder::PIECES12; }
    bool counts_moves() const {
        return encoder == Encoder::PLANES16 || encoder == Encoder::PLANES19 || encoder == Encoder::PLANES21;
    }
    bool operator==(const Encoding&) const = default;
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

// The steps (files, ranks) of the planes before the underpromotions, as "files,ranks".
std::vector<std::string> move_plane_names(const Variant& variant);

// Writes mask[policy_size]: 1 at the given policy indices, 0 elsewhere.
void write_mask(const Encoding& encoding, std::span<const std::uint16_t> indices, std::uint8_t* mask);

// The same with left and right exchanged.
Bitboard mirror(const Variant& variant, Bitboard squares);
std::uint16_t mirror_index(const Variant& variant, std::uint16_t index);

}  // namespace selfmate
