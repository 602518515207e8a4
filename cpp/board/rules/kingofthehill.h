// King of the hill: chess, and a king on one of the four central squares wins.
#pragma once

#include "board/rules/chess.h"

namespace selfmate {

struct KingOfTheHill : Chess {
    static constexpr std::string_view NAME = "kingofthehill";
    static constexpr bool SHUFFLED = false;
    static constexpr Bitboard HILL = (file_mask(3) | file_mask(4)) & (rank_mask(3) | rank_mask(4));

    static bool has_ended(const State& state) { return state.of(KING) & HILL; }
    static Outcome ending(const State& state) {
        return {Termination::KING_ON_HILL, winner(state.of(WHITE, KING) & HILL ? WHITE : BLACK)};
    }
    static bool cannot_win(const State&, Color) { return false; }
};

}  // namespace selfmate
