#include "data/adjudicate.h"

#include <algorithm>
#include <cmath>

namespace selfmate {
namespace {

constexpr double MAX_CENTIPAWNS = 12800;
constexpr int NO_BOUND = 1 << 30;

}  // namespace

int centipawns(double value) {
    const double score = 90 * std::tan(1.5637541897 * std::clamp(value, -1.0, 1.0));
    return static_cast<int>(std::lround(std::clamp(score, -MAX_CENTIPAWNS, MAX_CENTIPAWNS)));
}

std::optional<Adjudication> adjudicate(const ScoreRules& rules, std::span<const Score> scores, Color mover,
                                       std::uint32_t move_number) {
    // Whether the last `rule.moves` scores of a side are all reported and in lowest..highest.
    const auto all = [&](const ScoreRule& rule, Color side, int lowest, int highest) {
        const std::size_t skipped = side != mover, needed = skipped + 2 * rule.moves - 1;
        if (move_number < rule.from_move || scores.size() < needed) return false;
        for (std::size_t i = scores.size() - needed; i < scores.size(); i += 2)
            if (!scores[i] || *scores[i] < lowest || *scores[i] > highest) return false;
        return true;
    };
    if (const auto& rule = rules.resign; rule && all(*rule, mover, -NO_BOUND, -rule->centipawns))
        return Adjudication{winner(~mover), mover == WHITE ? "White resigns by score" : "Black resigns by score"};
    if (const auto& rule = rules.win)
        for (const Color loser : {WHITE, BLACK})
            if (all(*rule, loser, -NO_BOUND, -rule->centipawns) && all(*rule, ~loser, rule->centipawns, NO_BOUND))
                return Adjudication{winner(~loser), "won by score"};
    if (const auto& rule = rules.draw; rule && all(*rule, WHITE, -rule->centipawns, rule->centipawns) &&
                                       all(*rule, BLACK, -rule->centipawns, rule->centipawns))
        return Adjudication{Winner::NONE, "drawn by score"};
    return std::nullopt;
}

}  // namespace selfmate
