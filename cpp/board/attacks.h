// Attack sets of all pieces. Sliders use one lookup table, indexed by `pext` if the core is built for it
// (SELFMATE_PEXT) and by magic multiplication otherwise, with equal results.
#pragma once

#include "board/bitboard.h"

#if SELFMATE_PEXT
#include <immintrin.h>
#endif

namespace selfmate {

// The lookup table of one slider on one square.
struct SliderTable {
    Bitboard mask;  // squares whose occupancy matters
    Bitboard magic;
    const Bitboard* table;
    int shift;

    std::uint64_t index(Bitboard occupied) const {
#if SELFMATE_PEXT
        return _pext_u64(occupied, mask);
#else
        return ((occupied & mask) * magic) >> shift;
#endif
    }
    Bitboard operator()(Bitboard occupied) const { return table[index(occupied)]; }
};

// Filled once when the library is loaded, then constant.
extern SliderTable ROOK_TABLES[64];
extern SliderTable BISHOP_TABLES[64];
extern Bitboard KNIGHT_ATTACKS[64];
extern Bitboard KING_ATTACKS[64];
extern Bitboard PAWN_ATTACKS[2][64];
extern Bitboard ROOK_RAYS[64];    // rook attacks on an empty board
extern Bitboard BISHOP_RAYS[64];  // bishop attacks on an empty board
extern Bitboard BETWEEN[64][64];  // squares strictly between two squares of one line, else empty
extern Bitboard LINE[64][64];     // the whole line through two squares, edge to edge, else empty

inline Bitboard rook_attacks(Square square, Bitboard occupied) { return ROOK_TABLES[square](occupied); }
inline Bitboard bishop_attacks(Square square, Bitboard occupied) { return BISHOP_TABLES[square](occupied); }

template <Role ROLE>
Bitboard attacks(Square square, Bitboard occupied) {
    static_assert(ROLE != PAWN && ROLE != NO_ROLE);
    if constexpr (ROLE == KNIGHT) return KNIGHT_ATTACKS[square];
    if constexpr (ROLE == BISHOP) return bishop_attacks(square, occupied);
    if constexpr (ROLE == ROOK) return rook_attacks(square, occupied);
    if constexpr (ROLE == QUEEN) return bishop_attacks(square, occupied) | rook_attacks(square, occupied);
    if constexpr (ROLE == KING) return KING_ATTACKS[square];
}

// The union of the attacks of a set of knights.
constexpr Bitboard knights_attack(Bitboard knights) {
    const Bitboard one_left = (knights & ~FILE_A) >> 1;
    const Bitboard one_right = (knights & ~FILE_H) << 1;
    const Bitboard two_left = (one_left & ~FILE_A) >> 1;
    const Bitboard two_right = (one_right & ~FILE_H) << 1;
    const Bitboard near = one_left | one_right;
    const Bitboard far = two_left | two_right;
    return near << 16 | near >> 16 | far << 8 | far >> 8;
}

// The union of the attacks of a set of pawns.
template <Color COLOR>
constexpr Bitboard pawns_attack(Bitboard pawns) {
    if constexpr (COLOR == WHITE) return (pawns & ~FILE_A) << 7 | (pawns & ~FILE_H) << 9;
    return (pawns & ~FILE_A) >> 9 | (pawns & ~FILE_H) >> 7;
}

}  // namespace selfmate
