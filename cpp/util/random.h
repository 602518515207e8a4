// Counter-based random numbers: a stream is a function of (seed, game, ply, purpose), so that a game can be replayed or
// resumed without any generator state, with the same numbers on every machine.
#pragma once

#include <cstdint>

namespace selfmate {

// Output function of SplitMix64 (Steele, Lea, Flood 2014): a 64-bit hash.
constexpr std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

// One stream. Equal arguments give equal numbers; by convention `a`, `b` and `c` are game, ply and purpose.
class Random {
public:
    constexpr explicit Random(std::uint64_t seed, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0)
        : state_(mix(mix(mix(mix(seed) ^ a) ^ b) ^ c)) {}

    constexpr std::uint64_t bits() { return mix(state_++); }
    // 0 < uniform < 1
    constexpr double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }
    // 0 <= below < n
    constexpr std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((bits() >> 32) * n) >> 32); }

private:
    std::uint64_t state_;
};

}  // namespace selfmate
