// Benchmarks of the core: the speed of move generation, and the bench signature, which changes with the behaviour of
// rules or search.
#pragma once

#include "board/variant.h"

namespace selfmate {

struct Rate {
    double positions_per_second, moves_per_second;
};
// Generates the legal moves of positions from random games for `seconds`, on one thread.
Rate generation_rate(const Variant& variant, std::size_t positions, std::uint64_t seed, double seconds);

// Plays `moves` random moves in one game after another, on one thread, and writes dense planes and the mask of the legal
// actions after each; returns the number of games that ended. What environments are measured against
// (bench/environments.py).
std::size_t observe_random_games(const Variant& variant, std::uint64_t seed, std::size_t moves);

// A checksum over all variants: keys and legal moves of trees from fixed positions, and the visits of searches from
// there with the `fake` evaluator. Equal on every machine.
std::uint64_t signature();

// A checksum over self-play records of all variants under the `fake` evaluator: moves, targets, values and results, with
// Dirichlet and Gumbel noise, temperature, random plies, and full and fast searches. Equal on every machine.
std::uint64_t selfplay_signature();

}  // namespace selfmate
