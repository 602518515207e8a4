#include "board/attacks.h"

#include "board/magics.h"

namespace selfmate {

SliderTable ROOK_TABLES[64];
SliderTable BISHOP_TABLES[64];
Bitboard KNIGHT_ATTACKS[64];
Bitboard KING_ATTACKS[64];
Bitboard PAWN_ATTACKS[2][64];
Bitboard ROOK_RAYS[64];
Bitboard BISHOP_RAYS[64];
Bitboard BETWEEN[64][64];
Bitboard LINE[64][64];

namespace {

struct Step {
    int file, rank;
};
constexpr Step ROOK_STEPS[] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};
constexpr Step BISHOP_STEPS[] = {{1, 1}, {1, -1}, {-1, -1}, {-1, 1}};
constexpr Step KNIGHT_STEPS[] = {{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}};

constexpr std::size_t ROOK_ENTRIES = 102400;  // sum over all squares of 2^(relevant squares)
constexpr std::size_t BISHOP_ENTRIES = 5248;
alignas(64) Bitboard slider_entries[ROOK_ENTRIES + BISHOP_ENTRIES];

bool on_board(int file, int rank) { return file >= 0 && file < 8 && rank >= 0 && rank < 8; }

Bitboard ray_attacks(Square from, Step step, Bitboard occupied) {
    Bitboard seen = 0;
    int file = file_of(from) + step.file, rank = rank_of(from) + step.rank;
    for (; on_board(file, rank); file += step.file, rank += step.rank) {
        const Bitboard here = bit(make_square(file, rank));
        seen |= here;
        if (occupied & here) break;
    }
    return seen;
}

Bitboard slider_attacks(Square from, const Step (&steps)[4], Bitboard occupied) {
    Bitboard seen = 0;
    for (const Step step : steps) seen |= ray_attacks(from, step, occupied);
    return seen;
}

template <std::size_t N>
Bitboard leaper_attacks(Square from, const Step (&steps)[N]) {
    Bitboard seen = 0;
    for (const Step step : steps) {
        const int file = file_of(from) + step.file, rank = rank_of(from) + step.rank;
        if (on_board(file, rank)) seen |= bit(make_square(file, rank));
    }
    return seen;
}

// The squares whose occupancy changes the attacks: the rays without their last squares, which block nothing.
Bitboard relevant_squares(Square square, const Step (&steps)[4]) {
    const Bitboard edge_ranks = (rank_mask(0) | rank_mask(7)) & ~rank_mask(rank_of(square));
    const Bitboard edge_files = (FILE_A | FILE_H) & ~file_mask(file_of(square));
    return slider_attacks(square, steps, 0) & ~edge_ranks & ~edge_files;
}

Bitboard* fill(SliderTable (&tables)[64], const Step (&steps)[4], const Bitboard (&magics)[64], Bitboard* entries) {
    for (Square square = 0; square < 64; ++square) {
        SliderTable& slider = tables[square];
        slider.mask = relevant_squares(square, steps);
        slider.magic = magics[square];
        slider.shift = 64 - count(slider.mask);
        slider.table = entries;
        // Carry-rippler: every subset of the mask, beginning with the empty one.
        Bitboard occupied = 0;
        do {
            entries[slider.index(occupied)] = slider_attacks(square, steps, occupied);
            occupied = (occupied - slider.mask) & slider.mask;
        } while (occupied);
        entries += std::size_t(1) << count(slider.mask);
    }
    return entries;
}

struct Loader {
    Loader() {
        Bitboard* const bishops = fill(ROOK_TABLES, ROOK_STEPS, ROOK_MAGICS, slider_entries);
        fill(BISHOP_TABLES, BISHOP_STEPS, BISHOP_MAGICS, bishops);
        for (Square a = 0; a < 64; ++a) {
            KNIGHT_ATTACKS[a] = leaper_attacks(a, KNIGHT_STEPS);
            KING_ATTACKS[a] = leaper_attacks(a, ROOK_STEPS) | leaper_attacks(a, BISHOP_STEPS);
            PAWN_ATTACKS[WHITE][a] = pawns_attack<WHITE>(bit(a));
            PAWN_ATTACKS[BLACK][a] = pawns_attack<BLACK>(bit(a));
            ROOK_RAYS[a] = rook_attacks(a, 0);
            BISHOP_RAYS[a] = bishop_attacks(a, 0);
        }
        for (Square a = 0; a < 64; ++a)
            for (Square b = 0; b < 64; ++b) {
                if (a == b) continue;
                for (const bool straight : {true, false}) {
                    const auto& rays = straight ? ROOK_RAYS : BISHOP_RAYS;
                    const auto& tables = straight ? ROOK_TABLES : BISHOP_TABLES;
                    if (!contains(rays[a], b)) continue;
                    LINE[a][b] = (rays[a] & rays[b]) | bit(a) | bit(b);
                    BETWEEN[a][b] = tables[a](bit(b)) & tables[b](bit(a));
                }
            }
    }
} loader;

}  // namespace
}  // namespace selfmate
