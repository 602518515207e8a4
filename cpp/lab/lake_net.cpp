#include "lab/lake_net.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace selfmate {
namespace {

constexpr std::size_t LANES = 8, BLOCK_ROWS = 6, BLOCK = 2 * LANES;
constexpr double BETA_1 = 0.9, BETA_2 = 0.999, EPSILON = 1e-8;  // Adam (Kingma and Ba 2015)
constexpr std::uint64_t AVERAGE_DELAY = 10;                     // as ema_decay in selfmate.train.formulas

using Vector = float __attribute__((vector_size(LANES * sizeof(float))));

Vector load(const float* from) {
    Vector found;
    std::memcpy(&found, from, sizeof found);
    return found;
}
void store(float* to, Vector value) { std::memcpy(to, &value, sizeof value); }

// A matrix that is read one number at a time: element (row, column) is data[row * row_step + column * column_step].
struct Left {
    const float* data;
    std::size_t row_step, column_step;
};

// COUNT rows and BLOCK columns of a product, with the sums in registers.
template <std::size_t COUNT>
void multiply_block(Left left, const float* right, std::size_t inner, std::size_t width, float* out) {
    Vector sums[COUNT][2] = {};
    for (std::size_t k = 0; k < inner; ++k) {
        const Vector low = load(right + k * width), high = load(right + k * width + LANES);
        for (std::size_t row = 0; row < COUNT; ++row) {
            const float factor = left.data[row * left.row_step + k * left.column_step];
            sums[row][0] += factor * low;
            sums[row][1] += factor * high;
        }
    }
    for (std::size_t row = 0; row < COUNT; ++row) {
        store(out + row * width, sums[row][0]);
        store(out + row * width + LANES, sums[row][1]);
    }
}

// out [rows][width] = left [rows][inner] times right [inner][width]; width is a multiple of BLOCK.
void multiply(Left left, const float* right, std::size_t rows, std::size_t inner, std::size_t width, float* out) {
    for (std::size_t column = 0; column < width; column += BLOCK) {
        std::size_t row = 0;
        for (; row + BLOCK_ROWS <= rows; row += BLOCK_ROWS)
            multiply_block<BLOCK_ROWS>({left.data + row * left.row_step, left.row_step, left.column_step},
                                       right + column, inner, width, out + row * width + column);
        for (; row < rows; ++row)
            multiply_block<1>({left.data + row * left.row_step, left.row_step, left.column_step}, right + column, inner,
                              width, out + row * width + column);
    }
}

// out = the transpose of a square matrix, in blocks of LANES x LANES. A block is transposed in three rounds: pairs of
// numbers, pairs of pairs, and halves change places.
void transpose(const float* from, std::size_t width, float* out) {
    static_assert(LANES == 8);
    for (std::size_t top = 0; top < width; top += LANES)
        for (std::size_t left = 0; left < width; left += LANES) {
            Vector rows[LANES], mixed[LANES];
            for (std::size_t row = 0; row < LANES; ++row) rows[row] = load(from + (top + row) * width + left);
            for (const std::size_t row : {0, 2, 4, 6}) {
                mixed[row] = __builtin_shufflevector(rows[row], rows[row + 1], 0, 8, 2, 10, 4, 12, 6, 14);
                mixed[row + 1] = __builtin_shufflevector(rows[row], rows[row + 1], 1, 9, 3, 11, 5, 13, 7, 15);
            }
            for (const std::size_t row : {0, 1, 4, 5}) {
                rows[row] = __builtin_shufflevector(mixed[row], mixed[row + 2], 0, 1, 8, 9, 4, 5, 12, 13);
                rows[row + 2] = __builtin_shufflevector(mixed[row], mixed[row + 2], 2, 3, 10, 11, 6, 7, 14, 15);
            }
            for (const std::size_t row : {0, 1, 2, 3}) {
                store(out + (left + row) * width + top,
                      __builtin_shufflevector(rows[row], rows[row + 4], 0, 1, 2, 3, 8, 9, 10, 11));
                store(out + (left + row + 4) * width + top,
                      __builtin_shufflevector(rows[row], rows[row + 4], 4, 5, 6, 7, 12, 13, 14, 15));
            }
        }
}

void add_bias_and_relu(float* rows, const float* bias, std::size_t count, std::size_t width) {
    for (std::size_t row = 0; row < count; ++row)
        for (std::size_t unit = 0; unit < width; ++unit) {
            const float sum = rows[row * width + unit] + bias[unit];
            rows[row * width + unit] = sum > 0 ? sum : 0;
        }
}

}  // namespace

LakeNet::LakeNet(const LakeNetConfig& config, std::span<const float> weights) : config_(config) {
    // 1. The layout, padded; the third layer is stored by output, [ACTIONS][width].
    const std::size_t width = (config.hidden + BLOCK - 1) / BLOCK * BLOCK;
    at_.width = width;
    at_.first_bias = config.states * width;
    at_.second = at_.first_bias + width;
    at_.second_bias = at_.second + width * width;
    at_.third = at_.second_bias + width;
    at_.third_bias = at_.third + ACTIONS * width;
    at_.size = (at_.third_bias + ACTIONS + LANES - 1) / LANES * LANES;
    for (std::vector<float>* each : {&weights_, &gradient_, &mean_, &square_mean_}) each->assign(at_.size, 0);
    // 2. The weights
    const float* next = weights.data();
    const auto take = [&](std::size_t to, std::size_t inputs, std::size_t outputs, std::size_t step) {
        for (std::size_t input = 0; input < inputs; ++input, next += outputs)
            std::copy_n(next, outputs, weights_.data() + to + input * step);
    };
    take(0, config.states, config.hidden, width);
    take(at_.first_bias, 1, config.hidden, width);
    take(at_.second, config.hidden, config.hidden, width);
    take(at_.second_bias, 1, config.hidden, width);
    for (std::size_t unit = 0; unit < config.hidden; ++unit)
        for (std::size_t action = 0; action < ACTIONS; ++action) weights_[at_.third + action * width + unit] = *next++;
    take(at_.third_bias, 1, ACTIONS, ACTIONS);
    averaged_ = weights_;
    row_of_.assign(config.states, -1);
    batch_row_of_.assign(config.states, -1);
    transposed_.resize(width * width);
}

std::size_t LakeNet::weight_count(const LakeNetConfig& config) {
    return (config.states + 1) * config.hidden + (config.hidden + 1) * config.hidden + (config.hidden + 1) * ACTIONS;
}

void LakeNet::evaluate(std::span<const std::int64_t> squares, const std::vector<float>& weights, std::size_t from,
                       Rows& rows) const {
    const std::size_t width = at_.width, count = squares.size(), total = from + count;
    rows.first.resize(std::max(rows.first.size(), total * width));
    rows.second.resize(std::max(rows.second.size(), total * width));
    rows.values.resize(std::max(rows.values.size(), total * ACTIONS));
    // 1. The first layer is a table of squares.
    float* first = rows.first.data() + from * width;
    for (std::size_t row = 0; row < count; ++row)
        std::copy_n(weights.data() + static_cast<std::size_t>(squares[row]) * width, width, first + row * width);
    add_bias_and_relu(first, weights.data() + at_.first_bias, count, width);
    // 2. The second layer
    float* second = rows.second.data() + from * width;
    multiply({first, width, 1}, weights.data() + at_.second, count, width, width, second);
    add_bias_and_relu(second, weights.data() + at_.second_bias, count, width);
    // 3. The values of the actions
    for (std::size_t row = 0; row < count; ++row)
        for (std::size_t action = 0; action < ACTIONS; ++action) {
            const float* weight = weights.data() + at_.third + action * width;
            Vector sums = {};
            for (std::size_t unit = 0; unit < width; unit += LANES)
                sums += load(second + row * width + unit) * load(weight + unit);
            float sum = weights[at_.third_bias + action];
            for (std::size_t lane = 0; lane < LANES; ++lane) sum += sums[lane];
            rows.values[(from + row) * ACTIONS + action] = sum;
        }
}

void LakeNet::evaluate_missing(std::span<const std::int64_t> squares) {
    const std::size_t from = evaluated_.size();
    for (const std::int64_t square : squares) {
        std::int32_t& row = row_of_[static_cast<std::size_t>(square)];
        if (row >= 0) continue;
        row = static_cast<std::int32_t>(evaluated_.size());
        evaluated_.push_back(square);
    }
    if (evaluated_.size() > from) evaluate(std::span(evaluated_).subspan(from), weights_, from, rows_);
}

void LakeNet::values(std::span<const std::int64_t> squares, float* out) {
    evaluate_missing(squares);
    for (const std::int64_t square : squares) {
        const auto row = static_cast<std::size_t>(row_of_[static_cast<std::size_t>(square)]);
        out = std::copy_n(rows_.values.data() + row * ACTIONS, ACTIONS, out);
    }
}

void LakeNet::averaged_values(float* out) {
    std::vector<std::int64_t> squares(config_.states);
    for (std::size_t square = 0; square < config_.states; ++square) squares[square] = static_cast<std::int64_t>(square);
    Rows rows;
    evaluate(squares, config_.average > 0 ? averaged_ : weights_, 0, rows);
    std::copy_n(rows.values.data(), config_.states * ACTIONS, out);
}

void LakeNet::learn(std::span<const std::int64_t> squares, std::span<const std::int64_t> actions,
                    std::span<const float> targets) {
    // 1. The slope of the loss in each value: the error, but at most 1, of the mean over the batch
    evaluate_missing(squares);
    batch_.clear();
    slopes_.clear();
    const float share = 1.0f / static_cast<float>(squares.size());
    for (std::size_t sample = 0; sample < squares.size(); ++sample) {
        const auto square = static_cast<std::size_t>(squares[sample]),
                   action = static_cast<std::size_t>(actions[sample]);
        std::int32_t& row = batch_row_of_[square];
        if (row < 0) {
            row = static_cast<std::int32_t>(batch_.size());
            batch_.push_back(squares[sample]);
            slopes_.insert(slopes_.end(), ACTIONS, 0.0f);
        }
        const float value = rows_.values[static_cast<std::size_t>(row_of_[square]) * ACTIONS + action];
        slopes_[static_cast<std::size_t>(row) * ACTIONS + action] +=
            share * std::clamp(value - targets[sample], -1.0f, 1.0f);
    }
    // 2. The gradient, and the step
    back_propagate(batch_.size());
    adam_step();
    // 3. What was evaluated is out of date.
    for (const std::int64_t square : batch_) batch_row_of_[static_cast<std::size_t>(square)] = -1;
    for (const std::int64_t square : evaluated_) row_of_[static_cast<std::size_t>(square)] = -1;
    evaluated_.clear();
}

void LakeNet::back_propagate(std::size_t rows) {
    const std::size_t width = at_.width;
    for (std::vector<float>* each : {&batch_first_, &batch_second_, &of_first_, &of_second_})
        each->resize(std::max(each->size(), rows * width));
    for (std::size_t row = 0; row < rows; ++row) {
        const auto from = static_cast<std::size_t>(row_of_[static_cast<std::size_t>(batch_[row])]) * width;
        std::copy_n(rows_.first.data() + from, width, batch_first_.data() + row * width);
        std::copy_n(rows_.second.data() + from, width, batch_second_.data() + row * width);
    }
    // 1. The third layer, and the slopes in the second hidden layer. Where ReLU gave 0, nothing changes the loss.
    std::fill(gradient_.begin() + static_cast<std::ptrdiff_t>(at_.second_bias), gradient_.end(), 0.0f);
    for (std::size_t row = 0; row < rows; ++row) {
        float* slope = of_second_.data() + row * width;
        const float* second = batch_second_.data() + row * width;
        std::fill_n(slope, width, 0.0f);
        for (std::size_t action = 0; action < ACTIONS; ++action) {
            const float of_value = slopes_[row * ACTIONS + action];
            if (of_value == 0) continue;
            gradient_[at_.third_bias + action] += of_value;
            float* gradient = gradient_.data() + at_.third + action * width;
            const float* weight = weights_.data() + at_.third + action * width;
            for (std::size_t unit = 0; unit < width; ++unit) {
                gradient[unit] += of_value * second[unit];
                slope[unit] += of_value * weight[unit];
            }
        }
        float* bias = gradient_.data() + at_.second_bias;
        for (std::size_t unit = 0; unit < width; ++unit) {
            slope[unit] = second[unit] > 0 ? slope[unit] : 0;
            bias[unit] += slope[unit];
        }
    }
    // 2. The second layer, and the slopes in the first hidden layer
    multiply({batch_first_.data(), 1, width}, of_second_.data(), width, rows, width, gradient_.data() + at_.second);
    transpose(weights_.data() + at_.second, width, transposed_.data());
    multiply({of_second_.data(), width, 1}, transposed_.data(), rows, width, width, of_first_.data());
    // 3. The first layer: the row of each square
    std::fill(gradient_.begin(), gradient_.begin() + static_cast<std::ptrdiff_t>(at_.second), 0.0f);
    float* bias = gradient_.data() + at_.first_bias;
    for (std::size_t row = 0; row < rows; ++row) {
        const float* first = batch_first_.data() + row * width;
        const float* slope = of_first_.data() + row * width;
        float* gradient = gradient_.data() + static_cast<std::size_t>(batch_[row]) * width;
        for (std::size_t unit = 0; unit < width; ++unit) {
            gradient[unit] = first[unit] > 0 ? slope[unit] : 0;
            bias[unit] += gradient[unit];
        }
    }
}

void LakeNet::adam_step() {
    ++steps_;
    const double steps = static_cast<double>(steps_);
    const double correction_1 = 1 - std::pow(BETA_1, steps), correction_2 = 1 - std::pow(BETA_2, steps);
    const auto rate = static_cast<float>(config_.learning_rate / correction_1);
    const auto scale = static_cast<float>(1 / std::sqrt(correction_2));
    const auto keep_1 = static_cast<float>(BETA_1), keep_2 = static_cast<float>(BETA_2);
    const auto take_1 = static_cast<float>(1 - BETA_1), take_2 = static_cast<float>(1 - BETA_2);
    const auto epsilon = static_cast<float>(EPSILON);
    float* weights = weights_.data();
    const float* gradient = gradient_.data();
    float* mean = mean_.data();
    float* square_mean = square_mean_.data();
    for (std::size_t i = 0; i < at_.size; ++i) {
        const float slope = gradient[i];
        mean[i] = keep_1 * mean[i] + take_1 * slope;
        square_mean[i] = keep_2 * square_mean[i] + take_2 * slope * slope;
        weights[i] -= rate * mean[i] / (std::sqrt(square_mean[i]) * scale + epsilon);
    }
    if (config_.average <= 0) return;
    const double delayed = static_cast<double>(1 + steps_) / static_cast<double>(AVERAGE_DELAY + steps_);
    const auto share = static_cast<float>(1 - std::min(config_.average, delayed));
    float* averaged = averaged_.data();
    for (std::size_t i = 0; i < at_.size; ++i) averaged[i] += share * (weights[i] - averaged[i]);
}

}  // namespace selfmate
