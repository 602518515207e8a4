// Counting, the proof and the yardstick of the rules: perft over threads, the speed of move generation, and
// the signature that tells when behaviour has changed.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "variant.h"

namespace selfmate {

// Asked from time to time on the calling thread; true ends the count (whose number is then useless).
using Interrupted = std::function<bool()>;

std::vector<std::pair<Move, std::uint64_t>> divide(const Variant& variant, const State& state, int depth, int threads,
                                                   const Interrupted& interrupted);
std::uint64_t perft(const Variant& variant, const State& state, int depth, int threads, const Interrupted& interrupted);

struct Rate {
    double positions_per_second, moves_per_second;
};
// One thread writes down the legal moves of positions from random games, over and over, for some seconds.
Rate generation_rate(const Variant& variant, std::size_t positions, std::uint64_t seed, double seconds);

// A checksum over all variants: keys and legal moves of trees from fixed positions. Equal on every machine.
std::uint64_t signature();

}  // namespace selfmate
