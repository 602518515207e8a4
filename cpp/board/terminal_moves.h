// Which moves may end the game at once, seen from the enemy king: all others need not be tried.
#pragma once

#include "board/variant.h"

namespace selfmate {

class MayEnd {
public:
    MayEnd(const Variant& variant, const State& state) : state_(state) {
        const Color them = ~state.turn;
        // Where a side has no king to lose, or may give no check, games end in other ways.
        if (!variant.royal[them] || variant.checks_are_forbidden || !state.of(them, KING)) return;
        const Square king = state.king(them);
        const Bitboard occupied = state.occupied();
        const Bitboard straight = rook_attacks(king, occupied), diagonal = bishop_attacks(king, occupied);
        quick_ = true;
        checks_[PAWN] = PAWN_ATTACKS[them][king];
        checks_[KNIGHT] = KNIGHT_ATTACKS[king];
        checks_[BISHOP] = diagonal;
        checks_[ROOK] = straight;
        checks_[QUEEN] = straight | diagonal;
        // Who stands between the king and a slider may leave; the king moves to hills, from touching kings, and castles.
        const Bitboard own = state.of(state.turn);
        from_ = state.of(KING);
        if (rook_attacks(king, occupied & ~(straight & own)) & ~straight & own & state.straight_sliders())
            from_ |= straight;
        if (bishop_attacks(king, occupied & ~(diagonal & own)) & ~diagonal & own & state.diagonal_sliders())
            from_ |= diagonal;
        // What is captured may have been the last piece, or the king goes up with it.
        to_ = variant.kings_may_explode || !variant.royal[state.turn] || !more_than_one(state.of(them)) ? state.of(them)
                                                                                                        : 0;
        if (state.ep_square != NO_SQUARE) to_ |= bit(state.ep_square);
    }

    bool operator()(Move move) const {
        return !quick_ || move.promotion() != NO_ROLE || contains(from_, move.from()) || contains(to_, move.to()) ||
               contains(checks_[state_.role_at(move.from())], move.to());
    }

private:
    const State& state_;
    bool quick_ = false;
    Bitboard checks_[7] = {};  // by role, squares from which it gives check
    Bitboard from_ = 0, to_ = 0;
};

}  // namespace selfmate
