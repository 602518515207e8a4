// Evaluators without a net, compiled into the core: `uniform`; `fake`, a hash of the position and the moves for golden
// trees and the bench signature; `heuristic-1`, a hand-written evaluation of every variant. `heuristic-1` is frozen,
// because ratings are measured against it: an improved version gets a new name.
#pragma once

#include <span>
#include <string_view>

#include "board/variant.h"

namespace selfmate {

// Writes the prior of each legal move (float[moves.size()], sum 1) and win, draw, loss for the side to move (float[3],
// sum 1). `key`: hash of the encoder's input (see `encoded_key`).
using NativeEvaluator = void (*)(const Variant&, const State&, Key key, std::span<const Move> moves, float* priors,
                                 float* wdl);

// The lead of the side to move in pawns, which is the value of `heuristic-1` before it is mapped to -1..1.
float heuristic_lead(const Variant& variant, const State& state);

// Returns null for an unknown name.
NativeEvaluator find_native_evaluator(std::string_view name);

}  // namespace selfmate
