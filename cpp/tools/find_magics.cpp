// Finds the magic numbers of the sliding pieces and checks them in every build.
//
//     find_magics > cpp/board/magics.h    repeats the search; the seed is fixed, so the file does not change
//     find_magics --check                 fails unless every occupancy of every square has the right attacks
//
// This file shares no code with the core, so that an error in the core's tables cannot be repeated here.
//
// "Fancy" magics: the relevant squares of a slider on square s are `mask` (its rays without the last square of each,
// which blocks nothing behind it). Then
//
//     index = ((occupancy & mask) * magic) >> (64 - popcount(mask))
//
// may map two occupancies to one index only if they have the same attack set.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#if __has_include("board/magics.h")
#include "board/magics.h"
#define HAVE_MAGICS 1
#else
#define HAVE_MAGICS 0
#endif

namespace {

using Bitboard = std::uint64_t;
using Directions = std::array<std::array<int, 2>, 4>;  // {file step, rank step}

constexpr Directions ROOK_DIRECTIONS = {{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}};
constexpr Directions BISHOP_DIRECTIONS = {{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}};
constexpr std::uint64_t SEED = 0x53656c666d617465;  // "Selfmate" in ASCII; any seed would do

bool on_board(int file, int rank) { return file >= 0 && file < 8 && rank >= 0 && rank < 8; }

Bitboard bit(int file, int rank) { return Bitboard{1} << (8 * rank + file); }

// The relevant squares: each ray without its last square.
Bitboard relevant_mask(int square, const Directions& directions) {
    Bitboard mask = 0;
    for (auto [df, dr] : directions) {
        int file = square % 8 + df;
        int rank = square / 8 + dr;
        for (; on_board(file + df, rank + dr); file += df, rank += dr) mask |= bit(file, rank);
    }
    return mask;
}

// The attack set, square by square up to and including the first blocker.
Bitboard ray_attacks(int square, const Directions& directions, Bitboard occupancy) {
    Bitboard attacks = 0;
    for (auto [df, dr] : directions) {
        int file = square % 8 + df;
        int rank = square / 8 + dr;
        for (; on_board(file, rank); file += df, rank += dr) {
            attacks |= bit(file, rank);
            if (occupancy & bit(file, rank)) break;
        }
    }
    return attacks;
}

// SplitMix64 (Steele, Lea, Flood 2014): equal on every machine.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    // About one bit in eight is set: sparse factors spread the bits of the mask with few carries.
    std::uint64_t sparse() { return next() & next() & next(); }

private:
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

// Every occupancy of one square's mask with its attack set.
class Square {
public:
    Square(int square, const Directions& directions) : mask_(relevant_mask(square, directions)) {
        Bitboard subset = 0;  // carry-rippler: visits each subset of the mask once
        do {
            occupancies_.push_back(subset);
            attacks_.push_back(ray_attacks(square, directions, subset));
            subset = (subset - mask_) & mask_;
        } while (subset);
        table_.resize(occupancies_.size());
    }

    // An attack set is never empty, so 0 marks an unused entry.
    bool is_magic(std::uint64_t magic) {
        std::fill(table_.begin(), table_.end(), 0);
        for (std::size_t i = 0; i < occupancies_.size(); ++i) {
            Bitboard& entry = table_[(occupancies_[i] * magic) >> (64 - std::popcount(mask_))];
            if (entry && entry != attacks_[i]) return false;
            entry = attacks_[i];
        }
        return true;
    }

    std::uint64_t find(Random& random) {
        for (;;) {
            std::uint64_t candidate = random.sparse();
            // Quick rejection: the whole mask must set bits near the top.
            if (std::popcount((mask_ * candidate) >> 56) < 6) continue;
            if (is_magic(candidate)) return candidate;
        }
    }

    std::size_t size() const { return occupancies_.size(); }

private:
    Bitboard mask_;
    std::vector<Bitboard> occupancies_;
    std::vector<Bitboard> attacks_;
    std::vector<Bitboard> table_;
};

void print_magics(const char* name, const Directions& directions, Random& random) {
    std::printf("\ninline constexpr std::uint64_t %s[64] = {\n", name);
    for (int square = 0; square < 64; ++square) {
        auto magic = static_cast<unsigned long long>(Square(square, directions).find(random));
        std::printf("%s0x%016llx,%s", square % 4 ? " " : "    ", magic, square % 4 == 3 ? "\n" : "");
    }
    std::printf("};\n");
}

void print_header() {
    Random random(SEED);
    std::printf(
        "// Magic numbers of the sliding pieces, a1 first, for\n"
        "//     index = ((occupancy & mask) * magic) >> (64 - popcount(mask))\n"
        "// Generated by cpp/tools/find_magics.cpp (random search with a fixed seed); every build checks them.\n"
        "#pragma once\n\n#include <cstdint>\n\nnamespace selfmate {\n// clang-format off\n");
    print_magics("ROOK_MAGICS", ROOK_DIRECTIONS, random);
    print_magics("BISHOP_MAGICS", BISHOP_DIRECTIONS, random);
    std::printf("// clang-format on\n\n}  // namespace selfmate\n");
}

#if HAVE_MAGICS
// Adds the number of checked occupancies to `checked`; returns false at the first bad square.
bool check_magics(const char* name, const Directions& directions, const std::uint64_t* magics, std::size_t& checked) {
    for (int number = 0; number < 64; ++number) {
        Square square(number, directions);
        if (!square.is_magic(magics[number])) {
            std::fprintf(stderr, "magics.h: %s[%d] sends two attack sets to one index\n", name, number);
            return false;
        }
        checked += square.size();
    }
    return true;
}
#endif

int check() {
#if HAVE_MAGICS
    std::size_t checked = 0;
    if (!check_magics("ROOK_MAGICS", ROOK_DIRECTIONS, selfmate::ROOK_MAGICS, checked) ||
        !check_magics("BISHOP_MAGICS", BISHOP_DIRECTIONS, selfmate::BISHOP_MAGICS, checked)) {
        return 1;
    }
    std::printf("magics.h: %zu occupancies, no collision\n", checked);
    return 0;
#else
    std::fprintf(stderr, "there was no magics.h when this was compiled\n");
    return 1;
#endif
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--check") == 0) return check();
    if (argc == 1) {
        print_header();
        return 0;
    }
    std::fprintf(stderr, "usage: find_magics [--check]\n");
    return 2;
}
