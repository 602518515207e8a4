// Three-check: chess, and the third check wins.
#pragma once

#include "board/rules/chess.h"

namespace selfmate {

struct ThreeCheck : Chess {
    static constexpr std::string_view NAME = "3check";
    static constexpr bool SHUFFLED = false;
    static constexpr std::string_view START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+3 0 1";
    static constexpr int CHECKS_TO_WIN = 3;

    static bool has_ended(const State& state) { return !state.checks_left[WHITE] || !state.checks_left[BLACK]; }
    static Outcome ending(const State& state) {
        return {Termination::THREE_CHECKS, winner(state.checks_left[WHITE] ? BLACK : WHITE)};
    }
    static bool cannot_win(const State& state, Color side) { return !(state.of(side) & ~state.of(KING)); }
};

}  // namespace selfmate
