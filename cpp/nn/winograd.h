// 3x3 convolutions on boards in float32 by Winograd's minimal filtering: a tile of 4x4 squares takes 36 products per
// pair of channels instead of 144, one of 5x5 takes 49 instead of 225. The products are one matrix multiplication per
// point of the transformed tile. An 8x8 board has four tiles of 4x4, a 5x5 board is one tile.
//
//     out = A' [ (G w G') * (B' x B) ] A      (Lavin and Gray 2015; points 0, 1, -1, 2, -2, for 5x5 also 1/2)
//
// Layout: [position][square][channel], with channels padded to groups of 32. Sums are computed in the same order for
// every batch size, so that an evaluation does not depend on the other positions of its batch.
#pragma once

#include <cstddef>
#include <vector>

namespace selfmate {

struct BoardShape {
    std::size_t ranks, files, squares;
    std::size_t tile;               // side of a tile, in squares
    std::size_t tiles, tiles_wide;  // tiles of a board, and of one row of tiles
    std::size_t points;             // elements of a transformed tile, (tile + 2)^2
};

BoardShape board_shape(std::size_t ranks, std::size_t files);

constexpr std::size_t CHANNEL_GROUP = 32;
constexpr std::size_t padded_channels(std::size_t channels) {
    return (channels + CHANNEL_GROUP - 1) / CHANNEL_GROUP * CHANNEL_GROUP;
}

void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory);

// Allocator for arrays that every batch reads from end to end: aligned to cache lines, so that no vector register load
// crosses one, and in huge pages if the system has them.
template <class T>
struct AlignedAllocator {
    using value_type = T;
    T* allocate(std::size_t count) { return static_cast<T*>(allocate_aligned(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t) { free_aligned(memory); }
    bool operator==(const AlignedAllocator&) const { return true; }
};
using Floats = std::vector<float, AlignedAllocator<float>>;

// Weights of a layer as [group of outputs][point][input][output in the group] with padded channels; a dense layer has
// one point.
struct Layer {
    std::size_t inputs = 0, outputs = 0, points = 0;
    Floats weights, bias;
};

// From weights [outputs][inputs][3][3], or [outputs][inputs].
Layer winograd_layer(const BoardShape& board, const float* weights, const float* bias, std::size_t outputs,
                     std::size_t inputs);
Layer dense_layer(const float* weights, const float* bias, std::size_t outputs, std::size_t inputs);

// Arguments of a kernel: out = relu(layer(in) + residual).
struct KernelArguments {
    const float* weights;
    const float* bias;
    std::size_t inputs, outputs;  // padded
    const float* in;
    const float* residual;  // may be null
    float* out;
    bool relu;
    std::size_t rows;  // positions of a convolution, rows of a matrix product
    BoardShape board;
    float* scratch;  // `scratch_floats` floats; not used by `multiply`
};

// Size of the scratch memory of a convolution, in floats.
std::size_t scratch_floats(const BoardShape& board, std::size_t positions, std::size_t inputs);

struct Kernels {
    const char* name;
    void (*convolve)(const KernelArguments&);
    void (*multiply)(const KernelArguments&);  // a 1x1 convolution or dense layer on [rows][inputs]
};

// The fastest kernels that this CPU supports.
const Kernels& winograd_kernels();

// Kernels by name: "base", "avx2", "avx512". Null if the CPU or the build does not support them.
const Kernels* find_kernels(const char* name);

}  // namespace selfmate
