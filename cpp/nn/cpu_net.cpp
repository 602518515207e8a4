#include "nn/cpu_net.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace selfmate {
namespace {

// Positions at a time: enough for the products, and their points still lie in a core's own cache.
constexpr std::size_t GROUP = 8;
constexpr float PLIES_UNIT = 32;

// Takes a net's tensors one after the other, and sees that each has the size that it must have.
class Reader {
public:
    Reader(const BoardShape& board, const std::vector<std::span<const float>>& tensors)
        : board_(board), tensors_(tensors) {}

    const float* take(std::size_t size) {
        if (next_ >= tensors_.size() || tensors_[next_].size() != size)
            throw std::invalid_argument("tensor " + std::to_string(next_) + " of the net is not of its shape");
        return tensors_[next_++].data();
    }
    Layer convolution(std::size_t outputs, std::size_t inputs) {
        const float* const weights = take(outputs * inputs * 9);
        return winograd_layer(board_, weights, take(outputs), outputs, inputs);
    }
    Layer dense(std::size_t outputs, std::size_t inputs) {
        const float* const weights = take(outputs * inputs);
        return dense_layer(weights, take(outputs), outputs, inputs);
    }
    void finish() const {
        if (next_ != tensors_.size()) throw std::invalid_argument("the net has more tensors than it should");
    }

private:
    const BoardShape& board_;
    const std::vector<std::span<const float>>& tensors_;
    std::size_t next_ = 0;
};

void softmax(float* numbers, std::size_t count) {
    const float high = *std::max_element(numbers, numbers + count);
    float sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += numbers[i] = std::exp(numbers[i] - high);
    for (std::size_t i = 0; i < count; ++i) numbers[i] /= sum;
}

}  // namespace

struct CpuNet::Room {
    Floats x, y, z, scratch, pooled, narrow, wide;
};

CpuNet::CpuNet(const CpuNetShape& shape, const std::vector<std::span<const float>>& tensors)
    : shape_(shape), kernels_(winograd_kernels()) {
    Reader reader(shape.board, tensors);
    const std::size_t channels = shape.channels, pooled = 2 * shape.value_channels;
    const std::size_t squeezed = std::max<std::size_t>(16, channels / 4);
    stem_ = reader.convolution(channels, shape.bitboards + shape.scalars + 1);
    for (std::size_t i = 0; i < shape.blocks; ++i) {
        Block& block = blocks_.emplace_back();
        block.first = reader.convolution(channels, channels);
        block.second = reader.convolution(channels, channels);
        if (shape.context == "se") {
            block.squeeze = reader.dense(squeezed, channels);
            block.excite = reader.dense(2 * channels, squeezed);
        } else if (shape.context == "pool") {
            block.squeeze = reader.dense(channels, 2 * channels);
        }
    }
    policy_reduce_ = reader.dense(shape.policy_channels, channels);
    const float* const planes = reader.take(shape.planes * shape.policy_channels);
    const float* const planes_bias = reader.take(shape.planes);
    planes_.resize(shape.planes * policy_reduce_.outputs);
    for (std::size_t plane = 0; plane < shape.planes; ++plane)
        std::copy_n(planes + plane * shape.policy_channels, shape.policy_channels,
                    planes_.begin() + static_cast<std::ptrdiff_t>(plane * policy_reduce_.outputs));
    planes_bias_.assign(planes_bias, planes_bias + shape.planes);
    value_reduce_ = reader.dense(shape.value_channels, channels);
    hidden_ = reader.dense(pooled, pooled);
    // Win, draw, loss and plies are four outputs of one layer.
    std::vector<float> weights(4 * pooled), bias(4);
    const float* const wdl = reader.take(3 * pooled);
    std::copy_n(wdl, 3 * pooled, weights.begin());
    std::copy_n(reader.take(3), 3, bias.begin());
    std::copy_n(reader.take(pooled), pooled, weights.begin() + static_cast<std::ptrdiff_t>(3 * pooled));
    bias[3] = *reader.take(1);
    ends_ = dense_layer(weights.data(), bias.data(), 4, pooled);
    reader.finish();
}

void CpuNet::evaluate(const Leaves& leaves, float* priors, float* wdl, float* plies) const {
    static thread_local Room room;
    const std::size_t squares = shape_.board.squares;
    const std::size_t widest = std::max({stem_.inputs, stem_.outputs, policy_reduce_.outputs, value_reduce_.outputs});
    for (Floats* each : {&room.x, &room.y, &room.z}) each->resize(GROUP * squares * widest);
    room.scratch.resize(scratch_floats(shape_.board, GROUP, widest));
    for (std::size_t begin = 0; begin < leaves.size; begin += GROUP) {
        const std::size_t count = std::min(GROUP, leaves.size - begin);
        const auto convolve = [&](const Layer& layer, const Floats& in, const float* beside, Floats& out,
                                  bool rectify) {
            kernels_.convolve({layer.weights.data(), layer.bias.data(), layer.inputs, layer.outputs, in.data(), beside,
                               out.data(), rectify, count, shape_.board, room.scratch.data()});
        };
        // 1. The tower: x is the board, y and z are what a block makes of it.
        unpack(leaves, begin, count, room.y.data());
        convolve(stem_, room.y, nullptr, room.x, true);
        for (const Block& block : blocks_) {
            convolve(block.first, room.x, nullptr, room.y, true);
            if (shape_.context == "none") {
                convolve(block.second, room.y, room.x.data(), room.z, true);
                std::swap(room.x, room.z);
            } else {
                convolve(block.second, room.y, nullptr, room.z, false);
                add_context(block, room, count);
            }
        }
        // 2. The heads
        policy(leaves, begin, count, room, priors);
        value(begin, count, room, wdl, plies);
    }
}

// Bitboards, scalars and a plane of ones become channels.
void CpuNet::unpack(const Leaves& leaves, std::size_t begin, std::size_t count, float* out) const {
    const std::size_t stride = stem_.inputs;
    for (std::size_t row = begin; row < begin + count; ++row)
        for (std::size_t rank = 0; rank < shape_.board.ranks; ++rank)
            for (std::size_t file = 0; file < shape_.board.files; ++file, out += stride) {
                std::fill_n(out, stride, 0.0f);
                for (std::size_t i = 0; i < shape_.bitboards; ++i)
                    out[i] = static_cast<float>(leaves.bits[row * shape_.bitboards + i] >> (rank * 8 + file) & 1);
                for (std::size_t i = 0; i < shape_.scalars; ++i)
                    out[shape_.bitboards + i] = leaves.scalars[row * shape_.scalars + i];
                out[shape_.bitboards + shape_.scalars] = 1;
            }
}

// Mean and, if asked for, maximum of every channel over a board.
void CpuNet::pool_board(const float* boards, std::size_t stride, std::size_t channels, std::size_t position, bool most,
                        float* out) const {
    const std::size_t squares = shape_.board.squares;
    const float* const board = boards + position * squares * stride;
    std::copy_n(board, channels, out);
    if (most) std::copy_n(board, channels, out + channels);
    for (std::size_t square = 1; square < squares; ++square)
        for (std::size_t c = 0; c < channels; ++c) {
            out[c] += board[square * stride + c];
            if (most) out[channels + c] = std::max(out[channels + c], board[square * stride + c]);
        }
    for (std::size_t c = 0; c < channels; ++c) out[c] /= static_cast<float>(squares);
}

// What the whole board says changes z, which is then added to x.
void CpuNet::add_context(const Block& block, Room& room, std::size_t count) const {
    const std::size_t channels = shape_.channels, stride = stem_.outputs, squares = shape_.board.squares;
    const bool se = shape_.context == "se";
    const auto multiply = [&](const Layer& layer, const Floats& in, Floats& out, bool rectify) {
        out.resize(count * layer.outputs);
        kernels_.multiply({layer.weights.data(), layer.bias.data(), layer.inputs, layer.outputs, in.data(), nullptr,
                           out.data(), rectify, count, shape_.board, nullptr});
    };
    room.pooled.assign(count * block.squeeze.inputs, 0.0f);
    for (std::size_t i = 0; i < count; ++i)
        pool_board(room.z.data(), stride, channels, i, !se, room.pooled.data() + i * block.squeeze.inputs);
    multiply(block.squeeze, room.pooled, room.narrow, se);
    if (se) multiply(block.excite, room.narrow, room.wide, false);
    for (std::size_t i = 0; i < count; ++i) {
        float* const x = room.x.data() + i * squares * stride;
        const float* const z = room.z.data() + i * squares * stride;
        float* const scale = se ? room.wide.data() + i * block.excite.outputs : nullptr;
        const float* const shift = se ? scale + channels : room.narrow.data() + i * block.squeeze.outputs;
        for (std::size_t c = 0; se && c < channels; ++c) scale[c] = 1 / (1 + std::exp(-scale[c]));
        for (std::size_t square = 0; square < squares; ++square)
            for (std::size_t c = 0; c < channels; ++c) {
                float& sum = x[square * stride + c];
                const float branch = z[square * stride + c];
                sum = std::max(0.0f, sum + ((se ? branch * scale[c] : branch) + shift[c]));
            }
    }
}

// Only the logits of the legal moves are computed.
void CpuNet::policy(const Leaves& leaves, std::size_t begin, std::size_t count, Room& room, float* priors) const {
    const std::size_t squares = shape_.board.squares, stride = policy_reduce_.outputs;
    kernels_.multiply({policy_reduce_.weights.data(), policy_reduce_.bias.data(), policy_reduce_.inputs, stride,
                       room.x.data(), nullptr, room.y.data(), true, count * squares, shape_.board, nullptr});
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = begin + i;
        float* const logits = priors + row * leaves.width;
        const std::size_t moves = leaves.counts[row];
        for (std::size_t m = 0; m < moves; ++m) {
            const std::size_t index = leaves.moves[row * leaves.width + m];
            const float* const board = room.y.data() + (i * squares + index % squares) * stride;
            const float* const plane = planes_.data() + index / squares * stride;
            float sums[8] = {};  // in this order, whatever the compiler makes of it
            for (std::size_t c = 0; c < stride; c += 8)
                for (std::size_t j = 0; j < 8; ++j) sums[j] += board[c + j] * plane[c + j];
            logits[m] = planes_bias_[index / squares] +
                        (((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])));
        }
        if (moves) softmax(logits, moves);
        std::fill(logits + moves, logits + leaves.width, 0.0f);
    }
}

void CpuNet::value(std::size_t begin, std::size_t count, Room& room, float* wdl, float* plies) const {
    const std::size_t squares = shape_.board.squares, stride = value_reduce_.outputs;
    const auto multiply = [&](const Layer& layer, const float* in, float* out, bool rectify, std::size_t rows) {
        kernels_.multiply({layer.weights.data(), layer.bias.data(), layer.inputs, layer.outputs, in, nullptr, out,
                           rectify, rows, shape_.board, nullptr});
    };
    multiply(value_reduce_, room.x.data(), room.y.data(), true, count * squares);
    room.pooled.assign(count * hidden_.inputs, 0.0f);
    for (std::size_t i = 0; i < count; ++i)
        pool_board(room.y.data(), stride, shape_.value_channels, i, true, room.pooled.data() + i * hidden_.inputs);
    room.narrow.resize(count * hidden_.outputs);
    room.wide.resize(count * ends_.outputs);
    multiply(hidden_, room.pooled.data(), room.narrow.data(), true, count);
    multiply(ends_, room.narrow.data(), room.wide.data(), false, count);
    for (std::size_t i = 0; i < count; ++i) {
        const float* const ends = room.wide.data() + i * ends_.outputs;
        float* const out = wdl + (begin + i) * 3;
        std::copy_n(ends, 3, out);
        softmax(out, 3);
        plies[begin + i] = PLIES_UNIT * (ends[3] > 20 ? ends[3] : std::log1p(std::exp(ends[3])));
    }
}

}  // namespace selfmate
