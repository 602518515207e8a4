// Perft: counting the leaves of the tree of legal moves, with threads.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "board/variant.h"

namespace selfmate {

// Polled on the calling thread about every 50 ms; true ends the count, whose number is then undefined.
using Interrupted = std::function<bool()>;

// The leaves below each legal move.
std::vector<std::pair<Move, std::uint64_t>> divide(const Variant& variant, const State& state, int depth, int threads,
                                                   const Interrupted& interrupted);
std::uint64_t perft(const Variant& variant, const State& state, int depth, int threads, const Interrupted& interrupted);

}  // namespace selfmate
