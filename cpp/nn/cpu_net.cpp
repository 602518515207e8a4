#include "nn/cpu_net.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace selfmate {
namespace {

// Positions per pass: enough rows for the matrix products, and their transformed tiles fit into a core's own cache.
constexpr std::size_t POSITIONS = 8;
constexpr float PLIES_UNIT = 32;  // the plies output is in units of 32 plies, as in training

// Reads the tensors of a net in their order and checks their sizes.
class TensorReader {
public:
    TensorReader(const BoardShape& board, const std::vector<std::span<const float>>& tensors)
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

struct CpuNet::Scratch {
    Floats x, y, z, tiles, pooled, narrow, wide;
};

CpuNet::CpuNet(const CpuNetShape& shape, const std::vector<std::span<const float>>& tensors)
    : shape_(shape), kernels_(winograd_kernels()) {
    TensorReader reader(shape.board, tensors);
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
    value_outputs_ = dense_layer(weights.data(), bias.data(), 4, pooled);
    reader.finish();
}

void CpuNet::evaluate(const Batch& batch, float* priors, float* wdl, float* plies) const {
    static thread_local Scratch scratch;
    const std::size_t squares = shape_.board.squares;
    const std::size_t widest = std::max({stem_.inputs, stem_.outputs, policy_reduce_.outputs, value_reduce_.outputs});
    for (Floats* each : {&scratch.x, &scratch.y, &scratch.z}) each->resize(POSITIONS * squares * widest);
    scratch.tiles.resize(scratch_floats(shape_.board, POSITIONS, widest));
    for (std::size_t begin = 0; begin < batch.size; begin += POSITIONS) {
        const std::size_t count = std::min(POSITIONS, batch.size - begin);
        const auto convolve = [&](const Layer& layer, const Floats& in, const float* residual, Floats& out, bool relu) {
            kernels_.convolve({.weights = layer.weights.data(),
                               .bias = layer.bias.data(),
                               .inputs = layer.inputs,
                               .outputs = layer.outputs,
                               .in = in.data(),
                               .residual = residual,
                               .out = out.data(),
                               .relu = relu,
                               .rows = count,
                               .board = shape_.board,
                               .scratch = scratch.tiles.data()});
        };
        // 1. The tower: x holds the activations between blocks, y and z those inside a block.
        unpack(batch, begin, count, scratch.y.data());
        convolve(stem_, scratch.y, nullptr, scratch.x, true);
        for (const Block& block : blocks_) {
            convolve(block.first, scratch.x, nullptr, scratch.y, true);
            if (shape_.context == "none") {
                convolve(block.second, scratch.y, scratch.x.data(), scratch.z, true);
                std::swap(scratch.x, scratch.z);
            } else {
                convolve(block.second, scratch.y, nullptr, scratch.z, false);
                add_context(block, scratch, count);
            }
        }
        // 2. The heads.
        policy(batch, begin, count, scratch, priors);
        value(begin, count, scratch, wdl, plies);
    }
}

void CpuNet::multiply(const Layer& layer, const float* in, float* out, bool relu, std::size_t rows) const {
    kernels_.multiply({.weights = layer.weights.data(),
                       .bias = layer.bias.data(),
                       .inputs = layer.inputs,
                       .outputs = layer.outputs,
                       .in = in,
                       .residual = nullptr,
                       .out = out,
                       .relu = relu,
                       .rows = rows,
                       .board = shape_.board,
                       .scratch = nullptr});
}

// Unpacks bitboards, scalars and a plane of ones to channels.
void CpuNet::unpack(const Batch& batch, std::size_t begin, std::size_t count, float* out) const {
    const std::size_t stride = stem_.inputs;
    for (std::size_t row = begin; row < begin + count; ++row)
        for (std::size_t rank = 0; rank < shape_.board.ranks; ++rank)
            for (std::size_t file = 0; file < shape_.board.files; ++file, out += stride) {
                std::fill_n(out, stride, 0.0f);
                for (std::size_t i = 0; i < shape_.bitboards; ++i)
                    out[i] = static_cast<float>(batch.bits[row * shape_.bitboards + i] >> (rank * 8 + file) & 1);
                for (std::size_t i = 0; i < shape_.scalars; ++i)
                    out[shape_.bitboards + i] = batch.scalars[row * shape_.scalars + i];
                out[shape_.bitboards + shape_.scalars] = 1;
            }
}

// Writes the mean and optionally the maximum of every channel over a board.
void CpuNet::pool_board(const float* boards, std::size_t stride, std::size_t channels, std::size_t position,
                        bool with_max, float* out) const {
    const std::size_t squares = shape_.board.squares;
    const float* const board = boards + position * squares * stride;
    std::copy_n(board, channels, out);
    if (with_max) std::copy_n(board, channels, out + channels);
    for (std::size_t square = 1; square < squares; ++square)
        for (std::size_t c = 0; c < channels; ++c) {
            out[c] += board[square * stride + c];
            if (with_max) out[channels + c] = std::max(out[channels + c], board[square * stride + c]);
        }
    for (std::size_t c = 0; c < channels; ++c) out[c] /= static_cast<float>(squares);
}

// Scales or shifts z by its pooled context (squeeze-and-excitation, or global pooling as in KataGo) and adds it to x.
void CpuNet::add_context(const Block& block, Scratch& scratch, std::size_t count) const {
    const std::size_t channels = shape_.channels, stride = stem_.outputs, squares = shape_.board.squares;
    const bool se = shape_.context == "se";
    const auto multiply_rows = [&](const Layer& layer, const Floats& in, Floats& out, bool relu) {
        out.resize(count * layer.outputs);
        multiply(layer, in.data(), out.data(), relu, count);
    };
    scratch.pooled.assign(count * block.squeeze.inputs, 0.0f);
    for (std::size_t i = 0; i < count; ++i)
        pool_board(scratch.z.data(), stride, channels, i, !se, scratch.pooled.data() + i * block.squeeze.inputs);
    multiply_rows(block.squeeze, scratch.pooled, scratch.narrow, se);
    if (se) multiply_rows(block.excite, scratch.narrow, scratch.wide, false);
    for (std::size_t i = 0; i < count; ++i) {
        float* const x = scratch.x.data() + i * squares * stride;
        const float* const z = scratch.z.data() + i * squares * stride;
        float* const scale = se ? scratch.wide.data() + i * block.excite.outputs : nullptr;
        const float* const shift = se ? scale + channels : scratch.narrow.data() + i * block.squeeze.outputs;
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
void CpuNet::policy(const Batch& batch, std::size_t begin, std::size_t count, Scratch& scratch, float* priors) const {
    const std::size_t squares = shape_.board.squares, stride = policy_reduce_.outputs;
    multiply(policy_reduce_, scratch.x.data(), scratch.y.data(), true, count * squares);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = begin + i;
        float* const logits = priors + row * batch.width;
        const std::size_t moves = batch.counts[row];
        for (std::size_t m = 0; m < moves; ++m) {
            const std::size_t index = batch.moves[row * batch.width + m];
            const float* const board = scratch.y.data() + (i * squares + index % squares) * stride;
            const float* const plane = planes_.data() + index / squares * stride;
            float sums[8] = {};  // fixes the order of additions for every compiler and vector width
            for (std::size_t c = 0; c < stride; c += 8)
                for (std::size_t j = 0; j < 8; ++j) sums[j] += board[c + j] * plane[c + j];
            logits[m] = planes_bias_[index / squares] +
                        (((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])));
        }
        if (moves) softmax(logits, moves);
        std::fill(logits + moves, logits + batch.width, 0.0f);
    }
}

void CpuNet::value(std::size_t begin, std::size_t count, Scratch& scratch, float* wdl, float* plies) const {
    const std::size_t squares = shape_.board.squares, stride = value_reduce_.outputs;
    multiply(value_reduce_, scratch.x.data(), scratch.y.data(), true, count * squares);
    scratch.pooled.assign(count * hidden_.inputs, 0.0f);
    for (std::size_t i = 0; i < count; ++i)
        pool_board(scratch.y.data(), stride, shape_.value_channels, i, true,
                   scratch.pooled.data() + i * hidden_.inputs);
    scratch.narrow.resize(count * hidden_.outputs);
    scratch.wide.resize(count * value_outputs_.outputs);
    multiply(hidden_, scratch.pooled.data(), scratch.narrow.data(), true, count);
    multiply(value_outputs_, scratch.narrow.data(), scratch.wide.data(), false, count);
    for (std::size_t i = 0; i < count; ++i) {
        const float* const outputs = scratch.wide.data() + i * value_outputs_.outputs;
        float* const out = wdl + (begin + i) * 3;
        std::copy_n(outputs, 3, out);
        softmax(out, 3);
        plies[begin + i] = PLIES_UNIT * (outputs[3] > 20 ? outputs[3] : std::log1p(std::exp(outputs[3])));
    }
}

}  // namespace selfmate
