#include "nn/winograd.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "nn/winograd_kernels.h"

namespace selfmate {
namespace {

const Kernels BASE_KERNELS = {
    .name = "base", .convolve = VectorKernels<4, 4, 2>::convolve, .multiply = VectorKernels<4, 4, 2>::multiply};

std::size_t weight_index(const Layer& layer, std::size_t output, std::size_t point, std::size_t input) {
    const std::size_t group = output / CHANNEL_GROUP, within = output % CHANNEL_GROUP;
    return ((group * layer.points + point) * layer.inputs + input) * CHANNEL_GROUP + within;
}

Layer empty_layer(const float* bias, std::size_t outputs, std::size_t inputs, std::size_t points) {
    Layer layer{.inputs = padded_channels(inputs),
                .outputs = padded_channels(outputs),
                .points = points,
                .weights = {},
                .bias = {}};
    layer.weights.resize(points * layer.inputs * layer.outputs);
    layer.bias.resize(layer.outputs);
    std::memcpy(layer.bias.data(), bias, outputs * sizeof(float));
    return layer;
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
    constexpr std::size_t PAGE = std::size_t(2) << 20;
    const std::size_t alignment = bytes < PAGE / 2 ? 64 : PAGE, size = (bytes + alignment - 1) / alignment * alignment;
    void* const memory = std::aligned_alloc(alignment, std::max(size, alignment));
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    if (alignment == PAGE) madvise(memory, size, MADV_HUGEPAGE);  // only a hint
#endif
    return memory;
}

void free_aligned(void* memory) { std::free(memory); }

// Chooses the tile size with the fewest products.
BoardShape board_shape(std::size_t ranks, std::size_t files) {
    const auto with = [&](std::size_t tile) -> BoardShape {
        const std::size_t wide = (files + tile - 1) / tile, high = (ranks + tile - 1) / tile;
        return {.ranks = ranks,
                .files = files,
                .squares = ranks * files,
                .tile = tile,
                .tiles = high * wide,
                .tiles_wide = wide,
                .points = (tile + 2) * (tile + 2)};
    };
    const BoardShape four = with(4), five = with(5);
    return five.tiles * five.points < four.tiles * four.points ? five : four;
}

std::size_t scratch_floats(const BoardShape& board, std::size_t positions, std::size_t inputs) {
    return board.points * board.tiles * positions * (inputs + CHANNEL_GROUP) + inputs;
}

Layer winograd_layer(const BoardShape& board, const float* weights, const float* bias, std::size_t outputs,
                     std::size_t inputs) {
    constexpr double FOUR[][3] = {{1. / 4, 0, 0},
                                  {-1. / 6, -1. / 6, -1. / 6},
                                  {-1. / 6, 1. / 6, -1. / 6},
                                  {1. / 24, 1. / 12, 1. / 6},
                                  {1. / 24, -1. / 12, 1. / 6},
                                  {0, 0, 1}};
    constexpr double FIVE[][3] = {{-1. / 2, 0, 0},
                                  {-1. / 3, -1. / 3, -1. / 3},
                                  {1. / 9, -1. / 9, 1. / 9},
                                  {1. / 36, 1. / 18, 1. / 9},
                                  {-1. / 60, 1. / 30, -1. / 15},
                                  {32. / 45, 16. / 45, 8. / 45},
                                  {0, 0, 1}};
    const auto* const G = board.tile == 5 ? FIVE : FOUR;
    const std::size_t side = board.tile + 2;
    Layer layer = empty_layer(bias, outputs, inputs, board.points);
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t c = 0; c < inputs; ++c) {
            const float* const w = weights + (k * inputs + c) * 9;
            double half[7][3] = {};
            for (std::size_t a = 0; a < side; ++a)
                for (std::size_t x = 0; x < 3; ++x)
                    for (std::size_t y = 0; y < 3; ++y) half[a][x] += G[a][y] * static_cast<double>(w[y * 3 + x]);
            for (std::size_t a = 0; a < side; ++a)
                for (std::size_t b = 0; b < side; ++b) {
                    double sum = 0;
                    for (std::size_t x = 0; x < 3; ++x) sum += half[a][x] * G[b][x];
                    layer.weights[weight_index(layer, k, a * side + b, c)] = static_cast<float>(sum);
                }
        }
    return layer;
}

Layer dense_layer(const float* weights, const float* bias, std::size_t outputs, std::size_t inputs) {
    Layer layer = empty_layer(bias, outputs, inputs, 1);
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t c = 0; c < inputs; ++c) layer.weights[weight_index(layer, k, 0, c)] = weights[k * inputs + c];
    return layer;
}

#if defined(__x86_64__)
extern const Kernels AVX2_KERNELS, AVX512_KERNELS;

const Kernels* find_kernels(const char* name) {
    if (!std::strcmp(name, "base")) return &BASE_KERNELS;
    if (!std::strcmp(name, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &AVX2_KERNELS : nullptr;
    if (!std::strcmp(name, "avx512")) {
        const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                         __builtin_cpu_supports("avx512cd");
        return has ? &AVX512_KERNELS : nullptr;
    }
    return nullptr;
}
#else
const Kernels* find_kernels(const char* name) { return std::strcmp(name, "base") ? nullptr : &BASE_KERNELS; }
#endif

const Kernels& winograd_kernels() {
    static const Kernels& best = []() -> const Kernels& {
        for (const char* name : {"avx512", "avx2"})
            if (const Kernels* found = find_kernels(name)) return *found;
        return BASE_KERNELS;
    }();
    return best;
}

}  // namespace selfmate
