// What players say of their positions, in centipawns, and ends by it, for those who ask for them.
#pragma once

#include <optional>
#include <span>

#include "board/outcome.h"

namespace selfmate {

// A value (-1 to 1) as lc0 writes it: 90 tan(1.5637541897 value). The value is what counts; centipawns are for programs
// and people that want them.
int centipawns(double value);

using Score = std::optional<int>;  // the mover's, in centipawns; none: it said nothing

// So many centipawns in the last so many moves of a side, from a move of the game on.
struct ScoreRule {
    int centipawns;
    std::uint32_t moves, after;
};
struct ScoreRules {
    std::optional<ScoreRule> resign;  // lost, when a side says so of itself
    std::optional<ScoreRule> win;     // lost, when both sides say so
    std::optional<ScoreRule> draw;    // drawn, when both sides see no more than this
};

struct ScoreEnd {
    Winner winner;
    const char* reason;
};
// The end of a game after a move of `mover`, the `number`-th of the game; `scores` has every move so far.
std::optional<ScoreEnd> end_by_score(const ScoreRules& rules, std::span<const Score> scores, Color mover,
                                     std::uint32_t number);

}  // namespace selfmate
