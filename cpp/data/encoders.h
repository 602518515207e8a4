// Encodings by name: the inputs and the policy indices of other systems beside `full` and `planes` (encode.h).
//
// Encoders. Piece planes are 0-5 pawns to kings of one side, 6-11 of the other. `full` and `pieces12` are seen by the
// side to move (own pieces first, the board flipped for Black); the others by White (White's pieces first, never
// flipped), and so are their policy indices.
//   pieces12  the piece planes alone
//   pieces13  12 all squares if White is to move
//   planes16  12 all squares if Black is to move, 13 all squares if the position has occurred before; scalars: move
//             number / 100 (at most 1), half-move clock / 100 (at most 1)
//   planes18  12 all squares if White is to move, 13-16 all squares for each right to castle (White's king side and
//             queen side, Black's), 17 the file of the en passant square
//   planes21  planes18 and three scalars: half-move clock / 100 (at most 1), 1 for a position that has occurred before,
//             plies modulo 100 / 100
//   planes19  12-16 as planes18; scalars: move number / 100 (at most 1), half-move clock / 100 (at most 1)
// An encoder with a history of n positions appends the 12 piece planes of each of the n - 1 positions before, the last
// one first, seen by the same side as the present one; planes before the start of the game are empty.
//
// Policies: index = plane * squares + from-square.
//   planes        direction and distance (encode.h)
//   fromto        the plane is the to-square; then underpromotions, three directions for each kind, as in `planes`
//   fromto_queen  the to-square alone: the promotions of a pawn to one square share an index
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/encode.h"

namespace selfmate {

constexpr int PIECE_PLANES = 12;
constexpr int MAX_HISTORY = 8;

// None if there is no encoder or policy of this name, or the history is not from 1 to MAX_HISTORY.
std::optional<Encoding> encoding_of(const Variant& variant, std::string_view encoder, std::string_view policy,
                                    int history);
std::string_view name_of(Encoder encoder);
std::string_view name_of(Policy policy);

// The four functions of encode.h for any encoding. `past`: the positions before, oldest first; more than the encoder
// sees are ignored. Writes bits[encoding.bitboards] and scalars[encoding.scalars].
void encode(const Encoding& encoding, const Variant& variant, const State& state, bool repeated,
            std::span<const State> past, Bitboard* bits, float* scalars);
Key encoded_key(const Encoding& encoding, const State& state, bool repeated, std::span<const State> past);
std::uint16_t move_index(const Encoding& encoding, const Variant& variant, Move move, Color turn);
std::uint16_t mirror_index(const Encoding& encoding, const Variant& variant, std::uint16_t index);

// What each plane of the policy means, [planes]. Planes of two encodings, also of other variants and boards, that are
// seen by the same side mean the same where their names are equal: "0,2" is two ranks forward, "=n -1" an underpromotion
// to a knight with a capture to the left, "to 12 of 5x5" a to-square.
std::vector<std::string> plane_names(const Encoding& encoding, const Variant& variant);

}  // namespace selfmate
