// Measures of the core: the speed of move generation, and the signature that tells when behaviour has changed.
#pragma once

#include "board/variant.h"

namespace selfmate {

struct Rate {
    double positions_per_second, moves_per_second;
};
// One thread writes down the legal moves of positions from random games, over and over, for some seconds.
Rate generation_rate(const Variant& variant, std::size_t positions, std::uint64_t seed, double seconds);

// A checksum over all variants: keys and legal moves of trees from fixed positions, and the visits of searches
// there under the `fake` evaluator. Equal on every machine.
std::uint64_t signature();

}  // namespace selfmate
