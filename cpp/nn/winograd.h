// Convolutions of 3x3 on boards, in float32, by Winograd's minimal filtering: a tile of 4x4 squares takes 36 products
// for each pair of channels instead of 144, one of 5x5 takes 49 instead of 225, and what is left are as many products of
// matrices. A board of 8x8 has four tiles of 4x4, one of 5x5 is a tile by itself.
//
//     out = A' [ (G w G') * (B' x B) ] A      (Lavin and Gray 2015; points 0, 1, -1, 2, -2, for 5x5 also 1/2)
//
// Boards lie as [position][square][channel], the channels padded to whole groups of 32. Every sum is taken in the same
// order whatever the batch is, so that an answer does not depend on its company by a bit.
#pragma once

#include <cstddef>
#include <vector>

namespace selfmate {

struct BoardShape {
    std::size_t ranks, files, squares;
    std::size_t tile;               // squares along the side of one
    std::size_t tiles, tiles_wide;  // that cover it
    std::size_t points;             // products of a tile
};

BoardShape board_shape(std::size_t ranks, std::size_t files);

constexpr std::size_t CHANNEL_GROUP = 32;

void* allocate_wide(std::size_t bytes);
void free_wide(void* memory);

// Memory for numbers that are walked through from end to end for every batch: no vector of them lies across two lines
// of a cache, and they are in large pages where there are some.
template <class T>
struct WideMemory {
    using value_type = T;
    T* allocate(std::size_t count) { return static_cast<T*>(allocate_wide(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t) { free_wide(memory); }
    bool operator==(const WideMemory&) const { return true; }
};
using Floats = std::vector<float, WideMemory<float>>;

// A layer: weights as [group of outputs][point][input][output of the group], one point if it is 1x1. Padded.
struct Layer {
    std::size_t inputs = 0, outputs = 0, points = 0;
    Floats weights, bias;
};

// From weights [outputs][inputs][3][3], or [outputs][inputs].
Layer winograd_layer(const BoardShape& board, const float* weights, const float* bias, std::size_t outputs,
                     std::size_t inputs);
Layer dense_layer(const float* weights, const float* bias, std::size_t outputs, std::size_t inputs);

// What a kernel works on. `beside` is added to the result if it is there; nothing below zero stays where `rectify`.
struct Work {
    const float* weights;
    const float* bias;
    std::size_t inputs, outputs;  // padded
    const float* in;
    const float* beside;
    float* out;
    bool rectify;
    std::size_t rows;  // positions of a convolution, rows of a product
    BoardShape board;
    float* scratch;
};

// Floats of scratch that a convolution needs.
std::size_t scratch_floats(const BoardShape& board, std::size_t positions, std::size_t inputs);

struct Kernels {
    const char* name;
    void (*convolve)(const Work&);
    void (*multiply)(const Work&);  // a 1x1 convolution, or any layer of [rows][inputs]
};

// The fastest that this processor has.
const Kernels& winograd_kernels();

// One of them: "base", "avx2", "avx512"; none if the processor or the build has not got it.
const Kernels* find_kernels(const char* name);

}  // namespace selfmate
