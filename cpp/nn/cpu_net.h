// A net evaluated on the CPU in float32 (winograd.h): batches of leaves in, priors, win-draw-loss and plies out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/winograd.h"

namespace selfmate {

struct CpuNetShape {
    BoardShape board;
    std::size_t bitboards, scalars, planes, blocks, channels, policy_channels, value_channels;
    std::string context;  // "se", "pool" or "none"
};

// Owns the transformed weights. Immutable after construction: `evaluate` may be called by several threads at once.
class CpuNet {
public:
    // `tensors`: of a net with folded norms, the weights and the bias of each layer: stem; first, second and the layers
    // of the context (squeeze and excite; bias) of every block; reduce and planes of the policy head; reduce, hidden,
    // wdl and plies of the value head. Throws std::invalid_argument for a wrong number or size of tensors.
    CpuNet(const CpuNetShape& shape, const std::vector<std::span<const float>>& tensors);

    struct Batch {
        std::size_t size, width;
        const std::uint64_t* bits;    // [size, bitboards]
        const float* scalars;         // [size, scalars]
        const std::uint16_t* moves;   // [size, width] policy indices, all below planes * squares
        const std::uint16_t* counts;  // [size] moves of each row, at most `width`
    };
    // Writes priors: [size, width]; wdl: [size, 3]; plies: [size].
    void evaluate(const Batch& batch, float* priors, float* wdl, float* plies) const;

    const CpuNetShape& shape() const { return shape_; }

private:
    struct Block {
        Layer first, second, squeeze, excite;  // `squeeze` is the only layer of a pooled context
    };
    struct Scratch;  // activations, one per thread

    void multiply(const Layer& layer, const float* in, float* out, bool relu, std::size_t rows) const;
    void unpack(const Batch& batch, std::size_t begin, std::size_t count, float* out) const;
    void add_context(const Block& block, Scratch& scratch, std::size_t count) const;
    void policy(const Batch& batch, std::size_t begin, std::size_t count, Scratch& scratch, float* priors) const;
    void value(std::size_t begin, std::size_t count, Scratch& scratch, float* wdl, float* plies) const;
    void pool_board(const float* boards, std::size_t stride, std::size_t channels, std::size_t position, bool with_max,
                    float* out) const;

    CpuNetShape shape_;
    const Kernels& kernels_;
    Layer stem_;
    std::vector<Block> blocks_;
    Layer policy_reduce_, value_reduce_, hidden_, value_outputs_;  // `value_outputs_`: win, draw, loss, plies
    Floats planes_, planes_bias_;                                  // [planes][padded policy channels]
};

}  // namespace selfmate
