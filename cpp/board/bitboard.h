// Squares, pieces, moves and bitboards (sets of squares).
//
// A bitboard has eight squares per rank: a1 = bit 0, b1 = bit 1, a2 = bit 8. A 5x5 board uses the corner a1..e5, so
// that all boards share tables and shifts.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace selfmate {

using Bitboard = std::uint64_t;
using Key = std::uint64_t;
using Square = int;

enum Color : std::uint8_t { WHITE, BLACK };
enum Role : std::uint8_t { NO_ROLE, PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING };

constexpr Square NO_SQUARE = 64;

constexpr Color operator~(Color color) { return Color(color ^ 1); }

constexpr Square make_square(int file, int rank) { return rank * 8 + file; }
constexpr int file_of(Square square) { return square & 7; }
constexpr int rank_of(Square square) { return square >> 3; }

constexpr Bitboard FILE_A = 0x0101010101010101;
constexpr Bitboard FILE_H = FILE_A << 7;
constexpr Bitboard RANK_1 = 0xff;
constexpr Bitboard DARK_SQUARES = 0xaa55aa55aa55aa55;
constexpr Bitboard LIGHT_SQUARES = ~DARK_SQUARES;

constexpr Bitboard bit(Square square) { return Bitboard(1) << square; }
constexpr Bitboard rank_mask(int rank) { return RANK_1 << (8 * rank); }
constexpr Bitboard file_mask(int file) { return FILE_A << file; }
constexpr bool contains(Bitboard set, Square square) { return (set >> square) & 1; }
constexpr bool more_than_one(Bitboard set) { return set & (set - 1); }
constexpr int count(Bitboard set) { return std::popcount(set); }
constexpr Square first(Bitboard set) { return std::countr_zero(set); }

constexpr Square take_first(Bitboard& set) {
    const Square square = first(set);
    set &= set - 1;
    return square;
}

// Shifts every square of a set by a step of -9..9. The caller masks squares that would wrap around a side of the board.
template <int STEP>
constexpr Bitboard shift(Bitboard set) {
    return STEP >= 0 ? set << (STEP & 63) : set >> (-STEP & 63);
}

// A set and all squares adjacent to it.
constexpr Bitboard grow(Bitboard set) {
    set |= ((set & ~FILE_H) << 1) | ((set & ~FILE_A) >> 1);
    return set | (set << 8) | (set >> 8);
}

// Origin, target and promotion in 16 bits. Castling is king takes own rook; en passant is a pawn's diagonal move to an
// empty square.
class Move {
public:
    constexpr Move() = default;
    constexpr Move(Square from, Square to, Role promotion = NO_ROLE)
        : bits_(static_cast<std::uint16_t>(from | to << 6 | promotion << 12)) {}
    static constexpr Move from_bits(std::uint16_t bits) {
        Move move;
        move.bits_ = bits;
        return move;
    }

    // The null move, "0000": the other side is to move. Never generated; only `Position::play` knows it.
    static constexpr Move null() { return from_bits(0); }
    constexpr bool is_null() const { return bits_ == 0; }

    constexpr Square from() const { return bits_ & 63; }
    constexpr Square to() const { return bits_ >> 6 & 63; }
    constexpr Role promotion() const { return Role(bits_ >> 12); }
    constexpr std::uint16_t bits() const { return bits_; }
    constexpr bool operator==(const Move&) const = default;

private:
    std::uint16_t bits_;  // uninitialised by default, so that MoveList does not clear its array
};

constexpr int MAX_MOVES = 1024;  // above 36 pieces (horde) times 27 targets (queen)

inline std::string square_name(Square square) { return {char('a' + file_of(square)), char('1' + rank_of(square))}; }

constexpr char ROLE_LETTERS[] = " pnbrqk";

constexpr char piece_letter(Color color, Role role) {
    const char letter = ROLE_LETTERS[role];
    return color == WHITE ? char(letter - 'a' + 'A') : letter;
}

constexpr Role role_of(char lower_case_letter) {
    for (int role = PAWN; role <= KING; ++role)
        if (ROLE_LETTERS[role] == lower_case_letter) return Role(role);
    return NO_ROLE;
}

}  // namespace selfmate
