// Logarithm and exponential with equal results on every machine: additions, multiplications, divisions and bit
// operations only. libm is not used because its results differ between versions and CPUs, which would change visit
// counts and with them the bench signature.
#pragma once

#include <bit>
#include <cstdint>

namespace selfmate {

// Natural logarithm of a positive normal number; relative error about 1e-10.
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

// e^x; relative error about 1e-10. 0 below -87; clamped to e^87 above 87 (the range of a float).
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
