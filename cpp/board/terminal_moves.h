// A filter for the terminal test of moves: which moves may give check or end the game. All others need not be made to
// see that the game is not over; in chess these are more than half of the moves.
#pragma once

#include "board/variant.h"

namespace selfmate {

// Computed once per position, from the enemy king: direct checks, discovered checks and captures. Conservative: a move
// that passes need not end the game, a move that does not pass never does.
class TerminalMoveFilter {
public:
    TerminalMoveFilter(const Variant& variant, const State& state) : state_(state) {
        const Color them = ~state.turn;
        // Without a royal king, or where checks are forbidden, games end in other ways: every move passes.
        if (!variant.royal[them] || variant.checks_are_forbidden || !state.of(them, KING)) return;
        const Square king = state.king(them);
        const Bitboard occupied = state.occupied();
        const Bitboard straight = rook_attacks(king, occupied), diagonal = bishop_attacks(king, occupied);
        filters_ = true;
        checks_[PAWN] = PAWN_ATTACKS[them][king];
        checks_[KNIGHT] = KNIGHT_ATTACKS[king];
        checks_[BISHOP] = diagonal;
        checks_[ROOK] = straight;
        checks_[QUEEN] = straight | diagonal;
        // Discovered checks: a piece that may stand between the king and a slider of ours. King moves always pass: they
        // reach the hill, leave the contact of the kings (atomic), or castle.
        const Bitboard own = state.of(state.turn);
        from_ = state.of(KING);
        if (rook_attacks(king, occupied & ~(straight & own)) & ~straight & own & state.straight_sliders())
            from_ |= straight;
        if (bishop_attacks(king, occupied & ~(diagonal & own)) & ~diagonal & own & state.diagonal_sliders())
            from_ |= diagonal;
        // Captures: of the last piece, or with the king in the explosion.
        to_ = variant.kings_may_explode || !variant.royal[state.turn] || !more_than_one(state.of(them)) ? state.of(them)
                                                                                                        : 0;
        if (state.ep_square != NO_SQUARE) to_ |= bit(state.ep_square);
    }

    bool operator()(Move move) const {
        return !filters_ || move.promotion() != NO_ROLE || contains(from_, move.from()) || contains(to_, move.to()) ||
               contains(checks_[state_.role_at(move.from())], move.to());
    }

private:
    const State& state_;
    bool filters_ = false;        // false: every move passes
    Bitboard checks_[7] = {};     // by role, squares from which it gives check
    Bitboard from_ = 0, to_ = 0;  // origins and targets of other moves that pass
};

}  // namespace selfmate
