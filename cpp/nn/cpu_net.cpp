#include "nn/cpu_net.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace selfmate {
namespace {

// Positions per pass: enough rows for the matrix products, and their transformed tiles fit into a core's own cache.
constexpr std::size_t POSITIONS = 8;
constexpr std::size_t NO_REGISTER = std::numeric_limits<std::size_t>::max();
const char* const INPUT = "planes";  // the register of the unpacked leaves

void softmax(float* numbers, std::size_t count) {
    const float high = *std::max_element(numbers, numbers + count);
    float sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += numbers[i] = std::exp(numbers[i] - high);
    for (std::size_t i = 0; i < count; ++i) numbers[i] /= sum;
}

float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// Writes the mean and optionally the maximum of every channel over a board [squares][stride].
void pool_board(const float* board, std::size_t squares, std::size_t stride, std::size_t channels, bool with_max,
                float* out) {
    std::copy_n(board, channels, out);
    if (with_max) std::copy_n(board, channels, out + channels);
    for (std::size_t square = 1; square < squares; ++square)
        for (std::size_t c = 0; c < channels; ++c) {
            out[c] += board[square * stride + c];
            if (with_max) out[channels + c] = std::max(out[channels + c], board[square * stride + c]);
        }
    for (std::size_t c = 0; c < channels; ++c) out[c] /= static_cast<float>(squares);
}

// out = max(least, residual + (onto * scale + shift)), for each square and channel.
struct Modulation {
    const float *onto, *residual;  // [squares][padded channels]
    const float *scale, *shift;    // [channels]
    float least;
    std::size_t squares, channels;
    float* out;  // [squares][padded channels]; another board than the others
};

template <bool SCALES, bool ADDS>  // a loop without branches for each combination: the compiler vectorizes it
void modulate_board(const Modulation& modulation) {
    const float* __restrict onto = modulation.onto;
    const float* __restrict residual = modulation.residual;
    const float* __restrict scale = modulation.scale;
    const float* __restrict shift = modulation.shift;
    float* __restrict out = modulation.out;
    const float least = modulation.least;
    const std::size_t channels = modulation.channels, stride = padded_channels(channels);
    for (std::size_t square = 0; square < modulation.squares; ++square) {
        for (std::size_t c = 0; c < channels; ++c) {
            const float branch = (SCALES ? onto[c] * scale[c] : onto[c]) + shift[c];
            out[c] = std::max(least, ADDS ? residual[c] + branch : branch);
        }
        std::fill(out + channels, out + stride, 0.0f);
        onto += stride;
        out += stride;
        if (ADDS) residual += stride;
    }
}

}  // namespace

// ---- layers ------------------------------------------------------------------------------------

// Checks the layers in their order, and makes a step of each.
struct CpuNet::Compiler {
    struct Register {
        std::size_t index, channels;
        bool is_board;
    };

    CpuNet& net;
    std::map<std::string, Register> registers = {};
    std::map<std::string, Step::Target> targets = {
        {"policy", Step::Target::POLICY}, {"wdl", Step::Target::WDL}, {"plies", Step::Target::PLIES}};  // to be written

    static void check(bool fits, const LayerSpec& layer, const char* message) {
        if (!fits) throw std::invalid_argument(layer.name + ": " + message);
    }

    std::size_t write(const std::string& name, std::size_t channels, bool is_board) {
        const std::size_t index = registers.contains(name) ? registers.at(name).index : registers.size();
        registers.insert_or_assign(name, Register{.index = index, .channels = channels, .is_board = is_board});
        net.registers_ = registers.size();
        net.widest_ = std::max(net.widest_, padded_channels(channels));
        return index;
    }

    // A register that is read as a board of so many channels.
    std::size_t board(const LayerSpec& layer, const std::string& name, std::size_t channels) const {
        if (name.empty()) return NO_REGISTER;
        const auto found = registers.find(name);
        check(found != registers.end() && found->second.is_board && found->second.channels == channels, layer,
              "the board that it changes or adds does not fit");
        return found->second.index;
    }

    static void check_fields(const LayerSpec& layer) {
        const bool is_conv = layer.kind == "conv", modulates = layer.kind == "scale_shift" || layer.kind == "shift";
        check(is_conv || modulates || layer.kind == "linear", layer, "unknown kind of layer");
        check(layer.kernel == 1 || (is_conv && layer.kernel == 3), layer, "the kernel must be of size 1 or 3");
        check(layer.activation == "none" || layer.activation == "relu", layer, "unknown activation");
        check(layer.pooling == "none" || (!is_conv && (layer.pooling == "mean" || layer.pooling == "mean_max")), layer,
              "unknown pooling");
        check(modulates != layer.onto.empty(), layer, "scale_shift and shift, and only these, change a board");
        check(layer.residual.empty() || modulates || layer.kernel == 3, layer, "no residual is added here");
        check(layer.inputs > 0 && layer.outputs > 0 && layer.bias.size() == layer.outputs &&
                  layer.weight.size() == layer.outputs * layer.inputs * layer.kernel * layer.kernel,
              layer, "the tensors are not of its shape");
    }

    // The output that a layer writes, if it writes one.
    Step::Target target(const LayerSpec& layer) {
        const auto found = targets.find(layer.writes);
        if (found == targets.end()) return Step::Target::REGISTER;
        const Step::Target target = found->second;
        const bool is_policy = target == Step::Target::POLICY;
        const std::size_t outputs = is_policy ? net.shape_.planes : target == Step::Target::WDL ? 3 : 1;
        check(layer.kind == (is_policy ? "conv" : "linear") && layer.outputs == outputs && layer.kernel == 1 &&
                  layer.activation == "none",
              layer, "an output of another form");
        targets.erase(found);
        return target;
    }

    void add(const LayerSpec& layer) {
        // 1. Check the layer, and that it fits what it reads.
        check_fields(layer);
        const bool is_conv = layer.kind == "conv", scales = layer.kind == "scale_shift";
        const bool is_pooled = layer.pooling != "none", with_max = layer.pooling == "mean_max";
        const auto found = registers.find(layer.reads);
        check(found != registers.end(), layer, "reads a register that was not written");
        const Register input = found->second;
        check(input.is_board == (is_conv || is_pooled) && layer.inputs == input.channels * (with_max ? 2 : 1), layer,
              "does not fit the register that it reads");
        // 2. The step.
        const std::size_t channels = scales ? layer.outputs / 2 : layer.outputs;
        Step step{.kind = layer.kernel == 3    ? Step::Kind::CONVOLVE
                          : layer.onto.empty() ? Step::Kind::MULTIPLY
                                               : Step::Kind::MODULATE,
                  .target = target(layer),
                  .on_board = is_conv,
                  .is_pooled = is_pooled,
                  .with_max = with_max,
                  .scales = scales,
                  .relu = layer.activation == "relu",
                  .reads = input.index,
                  .writes = NO_REGISTER,
                  .onto = board(layer, layer.onto, channels),
                  .residual = board(layer, layer.residual, channels),
                  .read_channels = input.channels,
                  .board_channels = channels,
                  .layer = {},
                  .policy_weights = {}};
        if (step.target == Step::Target::REGISTER) {
            check(layer.writes != INPUT, layer, "writes the input");
            step.writes = write(layer.writes, channels, is_conv || !layer.onto.empty());
        }
        // 3. Its weights, as the kernels read them.
        const float* const weight = layer.weight.data();
        if (layer.kernel == 3)
            step.layer = winograd_layer(net.shape_.board, weight, layer.bias.data(), layer.outputs, layer.inputs);
        else
            step.layer = dense_layer(weight, layer.bias.data(), layer.outputs, layer.inputs);
        if (step.target == Step::Target::POLICY) {
            const std::size_t stride = step.layer.inputs;
            step.policy_weights.resize(layer.outputs * stride);
            for (std::size_t row = 0; row < layer.outputs; ++row)
                std::copy_n(weight + row * layer.inputs, layer.inputs, step.policy_weights.data() + row * stride);
        }
        net.steps_.push_back(std::move(step));
    }
};

CpuNet::CpuNet(const CpuNetShape& shape, const std::vector<LayerSpec>& layers)
    : shape_(shape), kernels_(winograd_kernels()) {
    Compiler compiler{.net = *this};
    compiler.write(INPUT, shape.bitboards + shape.scalars + shape.ones, true);
    for (const LayerSpec& layer : layers) compiler.add(layer);
    if (!compiler.targets.empty())
        throw std::invalid_argument("no layer writes the output " + compiler.targets.begin()->first);
}

// ---- evaluation --------------------------------------------------------------------------------

struct CpuNet::Scratch {
    std::vector<Floats> registers;  // boards [POSITIONS][squares][padded channels], or vectors [POSITIONS][..]
    Floats spare;                   // written in place of a register that is still read, and then exchanged with it
    Floats tiles, pooled, vectors;
};

void CpuNet::evaluate(const Batch& batch, float* priors, float* wdl, float* plies) const {
    static thread_local Scratch scratch;
    const std::size_t size = POSITIONS * shape_.board.squares * widest_;
    if (scratch.registers.size() < registers_) scratch.registers.resize(registers_);
    for (std::size_t i = 0; i < registers_; ++i) scratch.registers[i].resize(size);
    scratch.spare.resize(size);
    scratch.tiles.resize(scratch_floats(shape_.board, POSITIONS, widest_));
    for (std::size_t begin = 0; begin < batch.size; begin += POSITIONS) {
        const std::size_t count = std::min(POSITIONS, batch.size - begin);
        unpack(batch, begin, count, scratch.registers[0].data());
        for (const Step& step : steps_) {
            if (step.target == Step::Target::POLICY) {
                policy(step, scratch, batch, begin, count, priors);
                continue;
            }
            compute(step, scratch, count);
            const float* const found = scratch.vectors.data();
            for (std::size_t i = 0; step.target == Step::Target::WDL && i < count; ++i) {
                std::copy_n(found + i * step.layer.outputs, 3, wdl + (begin + i) * 3);
                softmax(wdl + (begin + i) * 3, 3);
            }
            for (std::size_t i = 0; step.target == Step::Target::PLIES && i < count; ++i)
                plies[begin + i] = shape_.plies_unit * softplus(found[i * step.layer.outputs]);
        }
    }
}

// Unpacks bitboards, scalars and, if there is one, a plane of ones to channels.
void CpuNet::unpack(const Batch& batch, std::size_t begin, std::size_t count, float* out) const {
    const std::size_t stride = padded_channels(shape_.bitboards + shape_.scalars + shape_.ones);
    for (std::size_t row = begin; row < begin + count; ++row)
        for (std::size_t rank = 0; rank < shape_.board.ranks; ++rank)
            for (std::size_t file = 0; file < shape_.board.files; ++file, out += stride) {
                std::fill_n(out, stride, 0.0f);
                for (std::size_t i = 0; i < shape_.bitboards; ++i)
                    out[i] = static_cast<float>(batch.bits[row * shape_.bitboards + i] >> (rank * 8 + file) & 1);
                for (std::size_t i = 0; i < shape_.scalars; ++i)
                    out[shape_.bitboards + i] = batch.scalars[row * shape_.scalars + i];
                if (shape_.ones) out[shape_.bitboards + shape_.scalars] = 1;
            }
}

// Computes a step into its register, or the outputs wdl and plies into `scratch.vectors`.
void CpuNet::compute(const Step& step, Scratch& scratch, std::size_t count) const {
    const float* const in = input(step, scratch, count);
    if (step.kind == Step::Kind::MODULATE || step.target != Step::Target::REGISTER) {
        scratch.vectors.resize(POSITIONS * step.layer.outputs);
        multiply(step.layer, in, scratch.vectors.data(), false, count);
        if (step.kind == Step::Kind::MODULATE) modulate(step, scratch, count);
        return;
    }
    if (step.kind == Step::Kind::MULTIPLY) {
        multiply(step.layer, in, scratch.spare.data(), step.relu, step.on_board ? count * shape_.board.squares : count);
    } else {
        const bool adds = step.residual != NO_REGISTER;
        kernels_.convolve({.weights = step.layer.weights.data(),
                           .bias = step.layer.bias.data(),
                           .inputs = step.layer.inputs,
                           .outputs = step.layer.outputs,
                           .in = in,
                           .residual = adds ? scratch.registers[step.residual].data() : nullptr,
                           .out = scratch.spare.data(),
                           .relu = step.relu,
                           .rows = count,
                           .board = shape_.board,
                           .scratch = scratch.tiles.data()});
    }
    std::swap(scratch.spare, scratch.registers[step.writes]);
}

const float* CpuNet::input(const Step& step, Scratch& scratch, std::size_t count) const {
    const float* const boards = scratch.registers[step.reads].data();
    if (!step.is_pooled) return boards;
    const std::size_t squares = shape_.board.squares, stride = padded_channels(step.read_channels);
    scratch.pooled.assign(POSITIONS * step.layer.inputs, 0.0f);
    for (std::size_t i = 0; i < count; ++i)
        pool_board(boards + i * squares * stride, squares, stride, step.read_channels, step.with_max,
                   scratch.pooled.data() + i * step.layer.inputs);
    return scratch.pooled.data();
}

// Scales and shifts a board by the vectors of a context (squeeze-and-excitation, or global pooling as in KataGo), and
// adds the residual.
void CpuNet::modulate(const Step& step, Scratch& scratch, std::size_t count) const {
    const std::size_t squares = shape_.board.squares, channels = step.board_channels;
    const std::size_t board = squares * padded_channels(channels);
    const bool adds = step.residual != NO_REGISTER;
    for (std::size_t i = 0; i < count; ++i) {
        float* const scale = scratch.vectors.data() + i * step.layer.outputs;
        for (std::size_t c = 0; step.scales && c < channels; ++c) scale[c] = 1 / (1 + std::exp(-scale[c]));
        const Modulation modulation{.onto = scratch.registers[step.onto].data() + i * board,
                                    .residual = adds ? scratch.registers[step.residual].data() + i * board : nullptr,
                                    .scale = scale,
                                    .shift = step.scales ? scale + channels : scale,
                                    .least = step.relu ? 0.0f : -std::numeric_limits<float>::infinity(),
                                    .squares = squares,
                                    .channels = channels,
                                    .out = scratch.spare.data() + i * board};
        if (step.scales)
            adds ? modulate_board<true, true>(modulation) : modulate_board<true, false>(modulation);
        else
            adds ? modulate_board<false, true>(modulation) : modulate_board<false, false>(modulation);
    }
    std::swap(scratch.spare, scratch.registers[step.writes]);
}

// Computes the logits of the legal moves alone, and their softmax.
void CpuNet::policy(const Step& step, const Scratch& scratch, const Batch& batch, std::size_t begin, std::size_t count,
                    float* priors) const {
    const std::size_t squares = shape_.board.squares, stride = step.layer.inputs;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = begin + i;
        float* const logits = priors + row * batch.width;
        const std::size_t moves = batch.counts[row];
        for (std::size_t m = 0; m < moves; ++m) {
            const std::size_t index = batch.moves[row * batch.width + m];
            const float* const board = scratch.registers[step.reads].data() + (i * squares + index % squares) * stride;
            const float* const plane = step.policy_weights.data() + index / squares * stride;
            float sums[8] = {};  // fixes the order of additions for every compiler and vector width
            for (std::size_t c = 0; c < stride; c += 8)
                for (std::size_t j = 0; j < 8; ++j) sums[j] += board[c + j] * plane[c + j];
            logits[m] = step.layer.bias[index / squares] +
                        (((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])));
        }
        if (moves) softmax(logits, moves);
        std::fill(logits + moves, logits + batch.width, 0.0f);
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

}  // namespace selfmate
