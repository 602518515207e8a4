// Legality of moves without making them, from checkers and pins. `KingSafety` is the rule of chess; atomic and racing
// kings have their own in rules/.
//
// Members of a `Legality`, for the side US to move:
//   mask                      legal targets of pieces that are not `restricted`, captures included
//   restricted                pieces whose legal targets are `targets(from, attacked)`
//   contested                 targets that are legal for a piece only if `allows(from, to)` (atomic)
//   king_targets()            legal targets of the king, without castling
//   en_passant(from, square)  whether the pawn on `from` may capture en passant on `square`
//   safe_for_king(square, occupied)  whether the king may stand on or pass a square (castling)
#pragma once

#include "board/state.h"

namespace selfmate {

// The squares of a variant's board.
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
            mask &= ~state.of(KING);  // a royal king is never captured, even if a lenient setup allows it
        if constexpr (!Rules::ROYAL[US]) return;

        // 1. Pawns and knights that give check.
        checkers = them & ((PAWN_ATTACKS[US][king] & state.of(PAWN)) | (KNIGHT_ATTACKS[king] & state.of(KNIGHT)));
        // 2. Sliders that would attack the king without our pieces: a check without blockers, a pin with one.
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
        // 3. A check is answered by capture or on its line, a double check only by the king.
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
