// Racing kings: no move may give check to either king, and the first king on the eighth rank wins. Black moves second
// and may still draw by reaching it with the next move.
#pragma once

#include "board/rules/chess.h"

namespace selfmate {

template <class Rules, Color US>
struct NoChecks : KingSafety<Rules, US> {
    using Base = KingSafety<Rules, US>;
    using Base::king, Base::mask, Base::restricted, Base::state;

    Bitboard pinned;
    Bitboard unmasking = 0;  // our pieces between one of our sliders and the enemy king
    Square enemy_king;

    explicit NoChecks(const State& state_) : Base(state_), pinned(restricted), enemy_king(state_.king(~US)) {
        const Bitboard own = state.of(US);
        Bitboard sliders = own & ((rook_attacks(enemy_king, state.of(~US)) & state.straight_sliders()) |
                                  (bishop_attacks(enemy_king, state.of(~US)) & state.diagonal_sliders()));
        while (sliders) {
            const Bitboard blockers = BETWEEN[enemy_king][take_first(sliders)] & own;
            if (!more_than_one(blockers)) unmasking |= blockers;
        }
        restricted = own;
    }

    Bitboard targets(Square from, Bitboard attacked) const {
        Bitboard legal = attacked & mask & quiet_for(state.role_at(from));
        if (contains(pinned, from)) legal &= LINE[king][from];
        return contains(unmasking, from) ? legal & LINE[enemy_king][from] : legal;
    }

    Bitboard king_targets() const {
        const Bitboard legal = Base::king_targets();
        return contains(unmasking, king) ? legal & LINE[enemy_king][king] : legal;
    }

private:
    // Squares from which a piece of this role does not attack the enemy king.
    Bitboard quiet_for(Role role) const {
        const Bitboard occupied = state.occupied();
        Bitboard checks = 0;
        if (role == KNIGHT) checks |= KNIGHT_ATTACKS[enemy_king];
        if (role == BISHOP || role == QUEEN) checks |= bishop_attacks(enemy_king, occupied);
        if (role == ROOK || role == QUEEN) checks |= rook_attacks(enemy_king, occupied);
        return ~checks;
    }
};

struct RacingKings : Chess {
    static constexpr std::string_view NAME = "racingkings";
    static constexpr std::string_view START = "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1";
    static constexpr bool PAWNS = false;
    static constexpr bool DOUBLE_STEP = false;
    static constexpr bool CASTLING = false;
    static constexpr bool SHUFFLED = false;
    static constexpr bool CHECKS_ARE_FORBIDDEN = true;
    static constexpr bool COLORS_DIFFER = true;
    static constexpr Bitboard RACE_GOAL = rank_mask(7);

    template <class Rules, Color US>
    using Legality = NoChecks<Rules, US>;

    static bool has_ended(const State& state) {
        if (!(state.of(KING) & RACE_GOAL)) return false;
        if (state.turn == WHITE || (state.of(BLACK, KING) & RACE_GOAL)) return true;
        // White's king has arrived: the game goes on only if Black's king can reach the goal with the next move.
        const Square king = state.king(BLACK);
        for (Bitboard steps = KING_ATTACKS[king] & RACE_GOAL & ~state.of(BLACK); steps;)
            if (!(state.attackers(take_first(steps), state.occupied() ^ bit(king)) & state.of(WHITE))) return false;
        return true;
    }
    static Outcome ending(const State& state) {
        const bool white = state.of(WHITE, KING) & RACE_GOAL, black = state.of(BLACK, KING) & RACE_GOAL;
        if (white && black) return {Termination::RACE_DRAWN, Winner::NONE};
        return {Termination::RACE_WON, winner(white ? WHITE : BLACK)};
    }
    static bool cannot_win(const State&, Color) { return false; }
};

}  // namespace selfmate
