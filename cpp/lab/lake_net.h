// The net of a deep Q-network on a small world such as Frozen Lake (seed 003, chapter 2), and one step of its learning.
// The plain PyTorch twin is TorchNet in src/selfmate/lab/frozenlake/dqn.py, and the tests compare both.
//
// The input is a square, written as a row of zeros with a single 1. Multiplying such a row by a matrix picks a row of
// it, so that the first layer is a table. Additions, multiplications, divisions and roots only, in a fixed order and
// not fused: equal seeds give equal nets on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace selfmate {

struct LakeNetConfig {
    std::size_t states = 64;
    std::size_t hidden = 128;     // width of both hidden layers
    double learning_rate = 1e-3;  // of Adam
    double average = 0;           // decay of the averaged weights at each step; 0: they are the weights
};

// square -> hidden -> hidden -> 4 values of actions, with ReLU between. Weights are stored by input: [inputs][outputs].
class LakeNet {
public:
    static constexpr std::size_t ACTIONS = 4;

    // `weights` has, layer by layer, [inputs * outputs] weights and [outputs] biases.
    LakeNet(const LakeNetConfig& config, std::span<const float> weights);

    static std::size_t weight_count(const LakeNetConfig& config);

    // Writes the values of the actions on these squares, [squares.size() * ACTIONS].
    void values(std::span<const std::int64_t> squares, float* out);

    // The same on every square by the averaged weights, [states * ACTIONS].
    void averaged_values(float* out);

    // One step of Adam on the mean smooth L1 loss between the values of these squares and actions and their targets.
    void learn(std::span<const std::int64_t> squares, std::span<const std::int64_t> actions,
               std::span<const float> targets);

    const LakeNetConfig& config() const { return config_; }

private:
    // Where the parts of the weights begin. Hidden layers are padded to whole vectors; padding is and stays 0, because
    // its gradient is 0.
    struct Layout {
        std::size_t width, first_bias, second, second_bias, third, third_bias, size;
    };

    // Activations of squares, a row for each, under the present weights.
    struct Rows {
        std::vector<float> first, second;  // [rows * width]
        std::vector<float> values;         // [rows * ACTIONS]
    };

    void evaluate(std::span<const std::int64_t> squares, const std::vector<float>& weights, std::size_t from,
                  Rows& rows) const;
    void evaluate_missing(std::span<const std::int64_t> squares);
    void back_propagate(std::size_t rows);
    void adam_step();

    LakeNetConfig config_;
    Layout at_;
    std::vector<float> weights_, averaged_, gradient_, mean_, square_mean_;  // [Layout::size]; the last two are Adam's
    std::uint64_t steps_ = 0;

    // Squares that were evaluated since the last step, and the row of each; -1: none.
    std::vector<std::int64_t> evaluated_;
    std::vector<std::int32_t> row_of_;
    Rows rows_;

    // The batch: its different squares, with the slope of the loss in each of their values.
    std::vector<std::int64_t> batch_;
    std::vector<std::int32_t> batch_row_of_;
    std::vector<float> slopes_, batch_first_, batch_second_, of_first_, of_second_, transposed_;
};

}  // namespace selfmate
