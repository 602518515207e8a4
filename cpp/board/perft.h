// Counting leaves, the proof of the rules, over threads.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "board/variant.h"

namespace selfmate {

// Asked from time to time on the calling thread; true ends the count (whose number is then useless).
using Interrupted = std::function<bool()>;

std::vector<std::pair<Move, std::uint64_t>> divide(const Variant& variant, const State& state, int depth, int threads,
                                                   const Interrupted& interrupted);
std::uint64_t perft(const Variant& variant, const State& state, int depth, int threads, const Interrupted& interrupted);

}  // namespace selfmate
