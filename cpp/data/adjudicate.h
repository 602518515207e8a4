// Adjudication: ending a game by the scores that the players report for their positions. Off unless asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "board/outcome.h"

namespace selfmate {

// Converts a value (-1 to 1) to centipawns by lc0's formula, 90 tan(1.5637541897 value). Only for output and
// adjudication: search and training use values.
int centipawns(double value);

using Score = std::optional<int>;  // in centipawns, for the side that moved; none: not reported

// A threshold that a side's scores must reach in its last `moves` moves, from move number `from_move` of the game on.
struct ScoreRule {
    int centipawns;
    std::uint32_t moves, from_move;
};
struct ScoreRules {
    std::optional<ScoreRule> resign{};  // a loss for a side whose own scores are at most -centipawns
    std::optional<ScoreRule> win{};     // a loss for a side if both sides' scores agree on it
    std::optional<ScoreRule> draw{};    // a draw if both sides' scores are within +-centipawns
};

struct Adjudication {
    Winner winner;
    const char* reason;
};
// Returns the end of a game after a move of `mover`, or none. `scores`: of every move so far; `move_number`: of the
// last move, as in a FEN.
std::optional<Adjudication> adjudicate(const ScoreRules& rules, std::span<const Score> scores, Color mover,
                                       std::uint32_t move_number);

}  // namespace selfmate
