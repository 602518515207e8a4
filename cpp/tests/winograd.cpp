// Winograd convolutions against the direct sum in double precision, for every kernel that this CPU supports.
#include "nn/winograd.h"

#include <cmath>
#include <cstring>

#include "tests/check.h"
#include "util/random.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

Floats numbers(Random& random, std::size_t count, double size) {
    Floats made(count);
    for (float& each : made) each = static_cast<float>(size * (2 * random.uniform() - 1));
    return made;
}

std::size_t padded(std::size_t channels) { return (channels + 31) / 32 * 32; }

// Random numbers as [rows][padded channels], with zeros as padding.
Floats boards(Random& random, std::size_t rows, std::size_t channels) {
    Floats made(rows * padded(channels), 0.0f);
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t c = 0; c < channels; ++c)
            made[row * padded(channels) + c] = static_cast<float>(2 * random.uniform() - 1);
    return made;
}

void convolutions(const Kernels& kernels, std::size_t ranks, std::size_t files, std::size_t inputs, std::size_t outputs,
                  std::size_t positions) {
    const std::string what = std::string(kernels.name) + " " + std::to_string(ranks) + "x" + std::to_string(files);
    Random random(ranks * 100 + files + inputs);
    const BoardShape board = board_shape(ranks, files);
    const Floats weights = numbers(random, outputs * inputs * 9, 1 / std::sqrt(9.0 * static_cast<double>(inputs)));
    const Floats bias = numbers(random, outputs, 1), in = boards(random, positions * board.squares, inputs);
    const Floats residual = boards(random, positions * board.squares, outputs);
    const Layer layer = winograd_layer(board, weights.data(), bias.data(), outputs, inputs);
    Floats out(positions * board.squares * layer.outputs), scratch(scratch_floats(board, positions, layer.inputs));
    const auto convolve = [&](std::size_t first, std::size_t count, const float* added, bool relu) {
        const std::size_t skip = first * board.squares;
        kernels.convolve({.weights = layer.weights.data(),
                          .bias = layer.bias.data(),
                          .inputs = layer.inputs,
                          .outputs = layer.outputs,
                          .in = in.data() + skip * layer.inputs,
                          .residual = added ? added + skip * layer.outputs : nullptr,
                          .out = out.data() + skip * layer.outputs,
                          .relu = relu,
                          .rows = count,
                          .board = board,
                          .scratch = scratch.data()});
    };
    for (const bool whole : {true, false}) {
        convolve(0, positions, whole ? residual.data() : nullptr, whole);
        for (std::size_t p = 0; p < positions; ++p)
            for (std::size_t square = 0; square < board.squares; ++square)
                for (std::size_t k = 0; k < outputs; ++k) {
                    double sum = static_cast<double>(bias[k]);
                    for (std::size_t y = 0; y < 3; ++y)
                        for (std::size_t x = 0; x < 3; ++x) {
                            const std::size_t rank = square / files + y - 1, file = square % files + x - 1;
                            if (rank >= ranks || file >= files) continue;
                            for (std::size_t c = 0; c < inputs; ++c)
                                sum += static_cast<double>(weights[((k * inputs + c) * 3 + y) * 3 + x]) *
                                       static_cast<double>(
                                           in[(p * board.squares + rank * files + file) * layer.inputs + c]);
                        }
                    const std::size_t at = (p * board.squares + square) * layer.outputs + k;
                    if (whole) sum = std::max(0.0, sum + static_cast<double>(residual[at]));
                    CHECK(std::abs(sum - static_cast<double>(out[at])) < 2e-5, what);
                }
    }
    // Evaluated one by one, the results are bit-identical.
    const Floats together = out;
    for (std::size_t p = 0; p < positions; ++p) convolve(p, 1, nullptr, false);
    CHECK(!std::memcmp(together.data(), out.data(), out.size() * sizeof(float)), what);
}

void products(const Kernels& kernels) {
    Random random(7);
    for (const std::size_t rows : {1, 2, 5, 8, 19}) {
        const std::size_t inputs = 40, outputs = 70;
        const Floats weights = numbers(random, outputs * inputs, 0.2), bias = numbers(random, outputs, 1);
        const Floats in = boards(random, rows, inputs);
        const Layer layer = dense_layer(weights.data(), bias.data(), outputs, inputs);
        Floats out(rows * layer.outputs);
        kernels.multiply({.weights = layer.weights.data(),
                          .bias = layer.bias.data(),
                          .inputs = layer.inputs,
                          .outputs = layer.outputs,
                          .in = in.data(),
                          .residual = nullptr,
                          .out = out.data(),
                          .relu = true,
                          .rows = rows,
                          .board = board_shape(8, 8),
                          .scratch = nullptr});
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t k = 0; k < outputs; ++k) {
                double sum = static_cast<double>(bias[k]);
                for (std::size_t c = 0; c < inputs; ++c)
                    sum +=
                        static_cast<double>(weights[k * inputs + c]) * static_cast<double>(in[row * layer.inputs + c]);
                CHECK(std::abs(std::max(0.0, sum) - static_cast<double>(out[row * layer.outputs + k])) < 1e-5,
                      kernels.name);
            }
    }
}

}  // namespace

int main() {
    CHECK(board_shape(8, 8).tile == 4 && board_shape(8, 8).tiles == 4, "8x8");
    CHECK(board_shape(5, 5).tile == 5 && board_shape(5, 5).tiles == 1, "5x5");
    CHECK(find_kernels("base") && !find_kernels("other"), "names");
    for (const char* name : {"base", "avx2", "avx512"})
        if (const Kernels* kernels = find_kernels(name)) {
            convolutions(*kernels, 8, 8, 21, 64, 3);
            convolutions(*kernels, 5, 5, 32, 40, 11);
            convolutions(*kernels, 3, 7, 5, 3, 2);
            convolutions(*kernels, 1, 1, 2, 1, 9);
            products(*kernels);
        }
    return finish();
}
