// A net evaluated on the CPU in float32 (winograd.h): batches of leaves in, priors, win-draw-loss and plies out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/winograd.h"

namespace selfmate {

// A layer of a net with folded norms. Fields and values are those of `LayerSpec` in nn/architecture.py, which explains
// them; here a kernel is of size 1 or 3, and a residual is added by 3x3 convolutions, scale_shift and shift.
struct LayerSpec {
    std::string name, kind;
    std::size_t inputs, outputs, kernel;
    std::string reads, writes, pooling;
    std::string onto, residual;  // may be empty
    std::string activation;
    std::span<const float> weight;  // [outputs, inputs], and [.., kernel, kernel] of a convolution
    std::span<const float> bias;    // [outputs]
};

struct CpuNetShape {
    BoardShape board;
    std::size_t bitboards, scalars, planes;  // `planes`: of the policy
    std::size_t ones;                        // planes of ones behind the scalars, 0 or 1
    float plies_unit;                        // plies for each unit of the output `plies`
};

// Owns the transformed weights. Immutable after construction: `evaluate` may be called by several threads at once.
class CpuNet {
public:
    // Throws std::invalid_argument, with the name of the layer, for layers that do not fit together or are not supported.
    CpuNet(const CpuNetShape& shape, const std::vector<LayerSpec>& layers);

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
    // A layer, ready to be computed.
    struct Step {
        enum class Kind : std::uint8_t { CONVOLVE, MULTIPLY, MODULATE };  // 3x3; 1x1 or linear; scale_shift or shift
        enum class Target : std::uint8_t { REGISTER, POLICY, WDL, PLIES };

        Kind kind;
        Target target;
        bool on_board;             // the input is a board, not a vector
        bool is_pooled, with_max;  // pooling by mean, or by mean and maximum
        bool scales;               // scale_shift, not shift
        bool relu;
        std::size_t reads, writes, onto, residual;  // registers
        std::size_t read_channels, board_channels;  // of `reads`, and of `onto` and `residual`
        Layer layer;
        Floats policy_weights;  // [outputs][padded inputs]: the policy is computed for the legal moves alone
    };
    struct Compiler;  // makes the steps
    struct Scratch;   // registers and other memory of one thread

    void unpack(const Batch& batch, std::size_t begin, std::size_t count, float* out) const;
    void compute(const Step& step, Scratch& scratch, std::size_t count) const;
    void modulate(const Step& step, Scratch& scratch, std::size_t count) const;
    void policy(const Step& step, const Scratch& scratch, const Batch& batch, std::size_t begin, std::size_t count,
                float* priors) const;
    // Returns what the weights of a step are multiplied by: its register, or the pooled board.
    const float* input(const Step& step, Scratch& scratch, std::size_t count) const;
    void multiply(const Layer& layer, const float* in, float* out, bool relu, std::size_t rows) const;

    CpuNetShape shape_;
    const Kernels& kernels_;
    std::vector<Step> steps_;
    std::size_t registers_ = 0, widest_ = 0;  // `widest_`: channels of the widest register, padded
};

}  // namespace selfmate
