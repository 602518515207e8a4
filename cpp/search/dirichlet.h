// Dirichlet noise.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "util/portable_math.h"
#include "util/random.h"

namespace selfmate {

// A gamma variate (Marsaglia and Tsang 2000).
inline double gamma_variate(double alpha, Random& random) {
    if (alpha < 1) return gamma_variate(alpha + 1, random) * exp_of(log_of(random.uniform()) / alpha);
    const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
        // A normal variate by Marsaglia's polar method.
        double x, s;
        do {
            x = 2 * random.uniform() - 1;
            const double y = 2 * random.uniform() - 1;
            s = x * x + y * y;
        } while (s >= 1 || s == 0);
        x *= std::sqrt(-2 * log_of(s) / s);
        const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        if (v > 0 && log_of(random.uniform()) < 0.5 * x * x + d - d * v + d * log_of(v)) return d * v;
    }
}

// Fills `out` with n gamma variates and returns their sum: divided by it, they are a draw from the symmetric Dirichlet
// distribution. The sum is 0 where alpha is so small that all of them underflow.
inline double draw_dirichlet(std::vector<double>& out, std::size_t n, double alpha, Random& random) {
    out.resize(n);
    double sum = 0;
    for (double& each : out) sum += each = gamma_variate(alpha, random);
    return sum;
}

}  // namespace selfmate
