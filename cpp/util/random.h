// Numbers that are equal on every machine: random numbers that are a function of what they are for, and the
// few elementary functions a search needs, from additions, multiplications and bits alone (no libm).
#pragma once

#include <bit>
#include <cstdint>

namespace selfmate {

constexpr std::uint64_t mix(std::uint64_t z) {  // the finaliser of splitmix64
    z += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

// A stream of random numbers for one purpose: (seed, game, ply, what for) give the same numbers always.
class Random {
public:
    constexpr explicit Random(std::uint64_t seed, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0)
        : state_(mix(mix(mix(mix(seed) ^ a) ^ b) ^ c)) {}

    constexpr std::uint64_t bits() { return mix(state_++); }
    // 0 < uniform < 1
    constexpr double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }
    constexpr std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((bits() >> 32) * n) >> 32); }

private:
    std::uint64_t state_;
};

// Natural logarithm of a positive, normal number, to about 1e-10.
constexpr double log_of(double x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    double m = std::bit_cast<double>((bits & 0xfffffffffffff) | 0x3ff0000000000000);  // 1 <= m < 2
    if (m > 1.4142135623730951) {
        m *= 0.5;
        ++exponent;
    }
    // log m = 2 artanh((m - 1) / (m + 1)), |t| < 0.172
    const double t = (m - 1) / (m + 1), u = t * t;
    const double series = 1 + u * (1.0 / 3 + u * (1.0 / 5 + u * (1.0 / 7 + u * (1.0 / 9 + u * (1.0 / 11)))));
    return 2 * t * series + exponent * 0.6931471805599453;
}

// e^x, to about 1e-10; 0 and a large number beyond what a float can hold.
constexpr double exp_of(double x) {
    if (x < -87) return 0;
    if (x > 87) x = 87;
    const double scaled = x * 1.4426950408889634;
    const int whole = static_cast<int>(scaled + (scaled < 0 ? -0.5 : 0.5));
    const double r = (x - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10;
    double term = 1, sum = 1;
    for (int i = 1; i <= 10; ++i) {
        term *= r / i;
        sum += term;
    }
    return sum * std::bit_cast<double>(static_cast<std::uint64_t>(whole + 1023) << 52);
}

}  // namespace selfmate
