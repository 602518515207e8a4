// Antichess: captures are compulsory, the king is an ordinary piece, and a side without legal move wins.
#pragma once

#include "board/rules/chess.h"

namespace selfmate {

struct Antichess : Chess {
    static constexpr std::string_view NAME = "antichess";
    static constexpr std::string_view START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1";
    static constexpr bool CASTLING = false;
    static constexpr bool SHUFFLED = false;
    static constexpr bool CAPTURE_IS_COMPULSORY = true;
    static constexpr bool ROYAL[2] = {false, false};
    static constexpr Role PROMOTIONS[] = {QUEEN, ROOK, BISHOP, KNIGHT, KING};

    static Outcome without_moves(const State& state, bool) {
        const bool bare = !state.of(state.turn);
        return {bare ? Termination::NO_PIECES_LEFT : Termination::NO_MOVES_LEFT, winner(state.turn)};
    }

    static bool cannot_win(const State& state, Color side) {
        const Bitboard own = state.of(side), them = state.of(~side);
        if (!own || !them) return own;
        // Only bishops: some of them cannot be captured by the enemy's bishops.
        if (state.occupied() == state.of(BISHOP))
            return ((own & LIGHT_SQUARES) && !(them & LIGHT_SQUARES)) ||
                   ((own & DARK_SQUARES) && !(them & DARK_SQUARES));
        // Knight against knight: every move changes the square colour of one knight, so the side to move decides.
        if (state.occupied() == state.of(KNIGHT) && count(state.occupied()) == 2) {
            const bool same_shade = !(state.occupied() & LIGHT_SQUARES) || !(state.occupied() & DARK_SQUARES);
            return (state.turn == side) != same_shade;
        }
        return false;
    }
};

}  // namespace selfmate
