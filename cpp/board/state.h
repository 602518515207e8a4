// The complete state of a position in 96 bytes. Copy-make: a move is taken back by assigning the copy from before,
// without undo record or allocation.
#pragma once

#include <array>

#include "board/attacks.h"

namespace selfmate {

struct alignas(32) State {
    Bitboard colors[2] = {};
    Bitboard roles[6] = {};  // roles[role - 1]
    Key key = 0;
    Bitboard castling = 0;             // squares of the rooks that may still castle
    std::uint16_t halfmove_clock = 0;  // plies since the last capture or pawn move
    std::uint16_t fullmove_number = 1;
    Color turn = WHITE;
    std::uint8_t ep_square = NO_SQUARE;  // set only if a legal en passant capture exists
    std::uint8_t checks_left[2] = {};    // checks that each side still has to give; 0 where checks are not counted

    Bitboard occupied() const { return colors[WHITE] | colors[BLACK]; }
    Bitboard of(Role role) const { return roles[role - 1]; }
    Bitboard of(Color color) const { return colors[color]; }
    Bitboard of(Color color, Role role) const { return colors[color] & roles[role - 1]; }
    Bitboard straight_sliders() const { return of(ROOK) | of(QUEEN); }
    Bitboard diagonal_sliders() const { return of(BISHOP) | of(QUEEN); }

    // NO_SQUARE when that side has no king.
    Square king(Color color) const { return first(of(color, KING)); }

    Role role_at(Square square) const {
        int role = NO_ROLE;
        for (int i = 0; i < 6; ++i) role += static_cast<int>(roles[i] >> square & 1) * (i + 1);
        return Role(role);
    }
    Color color_at(Square square) const { return contains(colors[WHITE], square) ? WHITE : BLACK; }

    void put(Color color, Role role, Square square);
    void clear(Bitboard squares) {
        for (Bitboard& set : colors) set &= ~squares;
        for (Bitboard& set : roles) set &= ~squares;
    }

    // Pieces of both colours that attack a square, with the given occupancy.
    Bitboard attackers(Square square, Bitboard occupied) const {
        return (rook_attacks(square, occupied) & straight_sliders()) |
               (bishop_attacks(square, occupied) & diagonal_sliders()) | (KNIGHT_ATTACKS[square] & of(KNIGHT)) |
               (KING_ATTACKS[square] & of(KING)) | (PAWN_ATTACKS[BLACK][square] & of(WHITE, PAWN)) |
               (PAWN_ATTACKS[WHITE][square] & of(BLACK, PAWN));
    }
};
static_assert(sizeof(State) == 96);

// Zobrist keys. En passant is hashed by file, castling by the rook's square, checks left by number.
struct ZobristKeys {
    Key pieces[2][6][64];
    Key castling[64];
    Key en_passant[8];
    Key checks_left[2][16];
    Key black_to_move;

    constexpr ZobristKeys() : pieces(), castling(), en_passant(), checks_left(), black_to_move() {
        std::uint64_t seed = 0x53656c666d617465;  // "Selfmate"
        const auto next = [&seed] {               // splitmix64 (Steele, Lea, Flood 2014)
            std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
            z = (z ^ z >> 27) * 0x94d049bb133111eb;
            return z ^ z >> 31;
        };
        for (auto& color : pieces)
            for (auto& role : color)
                for (Key& key : role) key = next();
        for (Key& key : castling) key = next();
        for (Key& key : en_passant) key = next();
        for (auto& color : checks_left)
            for (Key& key : color) key = next();
        black_to_move = next();
    }

    constexpr Key piece(Color color, Role role, Square square) const { return pieces[color][role - 1][square]; }

    // Computes the key of a state from scratch.
    Key of(const State& state) const {
        Key key = state.turn == BLACK ? black_to_move : 0;
        for (Bitboard squares = state.occupied(); squares;) {
            const Square square = take_first(squares);
            key ^= piece(state.color_at(square), state.role_at(square), square);
        }
        for (Bitboard rooks = state.castling; rooks;) key ^= castling[take_first(rooks)];
        if (state.ep_square != NO_SQUARE) key ^= en_passant[file_of(state.ep_square)];
        for (const Color color : {WHITE, BLACK}) key ^= checks_left[color][state.checks_left[color]];
        return key;
    }
};
inline constexpr ZobristKeys ZOBRIST;

inline void State::put(Color color, Role role, Square square) {
    colors[color] |= bit(square);
    roles[role - 1] |= bit(square);
}

}  // namespace selfmate
