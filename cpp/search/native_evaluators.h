// Evaluators that need no net: `uniform`, `fake` (a hash, for golden trees) and `heuristic-1`, a small
// hand-made judge of every variant that is frozen so that it stays a yardstick. A better one gets a new name.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "board/variant.h"

namespace selfmate {

// Fills a prior for each legal move (they sum to 1) and win, draw, loss for the side to move.
using NativeEvaluator = void (*)(const Variant&, const State&, Key key, std::span<const Move> moves, float* priors,
                                 float* wdl);

// Null when there is none of that name.
NativeEvaluator find_native_evaluator(std::string_view name);

}  // namespace selfmate
