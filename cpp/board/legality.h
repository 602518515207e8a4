// Which moves leave one's own king safe, worked out before any move is made. `KingSafety` is the rule of
// chess; atomic and racing kings state their own in rules/.
//
// A `Legality` answers, for the side US to move:
//   mask           squares where a piece that is not `restricted` may go, captures included
//   restricted     pieces whose targets depend on where they stand: `targets(from, attacked)` says which are legal
//   contested      targets whose legality depends on who goes there: `allows(from, to)` says who may (atomic)
//   king_targets() where the king may step
//   en_passant(from, square) whether the pawn on `from` may capture en passant on `square`
//   safe_for_king(square, occupied) whether the king may stand or pass there (castling)
#pragma once

#include "board/state.h"

namespace selfmate {

// The squares a board has, for a variant's FILES and RANKS.
template <class Rules>
constexpr Bitboard BOARD = [] {
    Bitboard board = 0;
    for (int rank = 0; rank < Rules::RANKS; ++rank) board |= ((Bitboard(1) << Rules::FILES) - 1) << (8 * rank);
    return board;
}();

template <class Rules, Color US>
struct KingSafety {
    static constexpr Color THEM = ~US;
    static constexpr bool HAS_CONTESTED = false;

    const State& state;
    Square king;
    Bitboard checkers = 0;
    Bitboard restricted = 0;  // pinned pieces
    Bitboard mask;

    explicit KingSafety(const State& state_) : state(state_), king(state_.king(US)) {
        const Bitboard own = state.of(US), them = state.of(THEM);
        mask = BOARD<Rules> & ~own;
        if constexpr (Rules::ROYAL[THEM])
            mask &= ~state.of(KING);  // a royal king is never taken, even where a lenient setup offers it
        if constexpr (!Rules::ROYAL[US]) return;

        // 1. Pawns and knights that give check.
        checkers = them & ((PAWN_ATTACKS[US][king] & state.of(PAWN)) | (KNIGHT_ATTACKS[king] & state.of(KNIGHT)));
        // 2. Sliders that see the king through our own pieces: check if nothing is between, a pin if one piece is.
        Bitboard snipers = them & ((rook_attacks(king, them) & state.straight_sliders()) |
                                   (bishop_attacks(king, them) & state.diagonal_sliders()));
        while (snipers) {
            const Square sniper = take_first(snipers);
            const Bitboard blockers = BETWEEN[king][sniper] & own;
            if (!blockers)
                checkers |= bit(sniper);
            else if (!more_than_one(blockers))
                restricted |= blockers;
        }
        // 3. A check must be answered on its line; two checks only by the king.
        if (checkers) mask &= more_than_one(checkers) ? 0 : checkers | BETWEEN[king][first(checkers)];
    }

    Bitboard targets(Square from, Bitboard attacked) const { return attacked & mask & LINE[king][from]; }

    Bitboard king_targets() const {
        const Bitboard them = state.of(THEM);
        const Bitboard leapers = pawns_attack<THEM>(them & state.of(PAWN)) | knights_attack(them & state.of(KNIGHT)) |
                                 (Rules::ROYAL[THEM] ? KING_ATTACKS[state.king(THEM)] : 0);
        const Bitboard occupied = state.occupied() ^ bit(king);
        const Bitboard straight = them & state.straight_sliders(), diagonal = them & state.diagonal_sliders();
        Bitboard candidates = KING_ATTACKS[king] & BOARD<Rules> & ~state.of(US) & ~state.of(KING) & ~leapers;
        Bitboard safe = candidates;
        while (candidates) {
            const Square square = take_first(candidates);
            if ((rook_attacks(square, occupied) & straight) | (bishop_attacks(square, occupied) & diagonal))
                safe ^= bit(square);
        }
        return safe;
    }

    bool safe_for_king(Square square, Bitboard occupied) const {
        return !(state.attackers(square, occupied) & state.of(THEM));
    }

    bool en_passant(Square from, Square square) const {
        if constexpr (!Rules::ROYAL[US]) return true;
        const Bitboard captured = bit(square ^ 8);
        const Bitboard occupied = (state.occupied() ^ bit(from) ^ captured) | bit(square);
        return !(state.attackers(king, occupied) & state.of(THEM) & ~captured);
    }
};

}  // namespace selfmate
