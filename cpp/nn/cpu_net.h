// A net computed by the core on a processor, in float32 (winograd.h): leaves in, priors and win-draw-loss out.
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

class CpuNet {
public:
    // The tensors of a folded net, each layer's weights and then its bias: stem; of every block first, second and what
    // its context has (squeeze and excite; bias); of the heads reduce and planes, then reduce, hidden, wdl and plies.
    // Throws std::invalid_argument where there are others than these.
    CpuNet(const CpuNetShape& shape, const std::vector<std::span<const float>>& tensors);

    struct Leaves {
        std::size_t size, width;  // rows, and moves of a row at most
        const std::uint64_t* bits;
        const float* scalars;
        const std::uint16_t* moves;  // all of them below planes * squares
        const std::uint16_t* counts;
    };
    // priors: [size, width]; wdl: [size, 3]; plies: [size]. Any thread may ask at any time.
    void evaluate(const Leaves& leaves, float* priors, float* wdl, float* plies) const;

    const CpuNetShape& shape() const { return shape_; }

private:
    struct Block {
        Layer first, second, squeeze, excite;  // `squeeze` is the bias of a pooled context
    };
    struct Room;  // memory of one thread

    void unpack(const Leaves& leaves, std::size_t begin, std::size_t count, float* out) const;
    void add_context(const Block& block, Room& room, std::size_t count) const;
    void policy(const Leaves& leaves, std::size_t begin, std::size_t count, Room& room, float* priors) const;
    void value(std::size_t begin, std::size_t count, Room& room, float* wdl, float* plies) const;
    void pool_board(const float* boards, std::size_t stride, std::size_t channels, std::size_t position, bool most,
                    float* out) const;

    CpuNetShape shape_;
    const Kernels& kernels_;
    Layer stem_;
    std::vector<Block> blocks_;
    Layer policy_reduce_, value_reduce_, hidden_, ends_;  // `ends_`: win, draw, loss and plies
    Floats planes_, planes_bias_;                         // [planes][padded policy channels]
};

}  // namespace selfmate
