// The net of the classroom: the first step of Adam has the signs of a gradient by finite differences, padding stays out
// of the values, averaged weights follow, and equal nets stay equal.
#include "lab/lake_net.h"

#include <cmath>

#include "tests/check.h"
#include "util/random.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

constexpr std::size_t STATES = 5;

std::vector<float> random_weights(const LakeNetConfig& config) {
    Random random(3);
    std::vector<float> weights(LakeNet::weight_count(config));
    for (float& weight : weights) weight = static_cast<float>(random.uniform() - 0.5);
    return weights;
}

struct Batch {
    std::vector<std::int64_t> squares{0, 2, 2, 4}, actions{1, 3, 0, 1};
    std::vector<float> targets{0.9f, -0.4f, 7.0f, 0.1f};
};

// Mean smooth L1 loss of the batch.
double loss(const LakeNetConfig& config, const std::vector<float>& weights, const Batch& batch) {
    LakeNet net(config, weights);
    std::vector<float> values(batch.squares.size() * LakeNet::ACTIONS);
    net.values(batch.squares, values.data());
    double sum = 0;
    for (std::size_t sample = 0; sample < batch.squares.size(); ++sample) {
        const std::size_t at = sample * LakeNet::ACTIONS + static_cast<std::size_t>(batch.actions[sample]);
        const double error = std::abs(static_cast<double>(values[at]) - static_cast<double>(batch.targets[sample]));
        sum += error < 1 ? error * error / 2 : error - 0.5;
    }
    return sum / static_cast<double>(batch.squares.size());
}

}  // namespace

int main() {
    const Batch batch;
    const std::vector<std::int64_t> all{0, 1, 2, 3, 4};
    for (const std::size_t hidden : {1u, 7u, 16u, 33u}) {
        const LakeNetConfig config{.states = STATES, .hidden = hidden, .learning_rate = 1e-3, .average = 0.5};
        const std::vector<float> weights = random_weights(config);
        // 1. The loss falls by its gradient: the first step of Adam moves every weight by the rate, against its slope.
        double expected = 0;
        for (std::size_t index = 0; index < weights.size(); ++index) {
            std::vector<float> more = weights, less = weights;
            more[index] += 1e-3f;
            less[index] -= 1e-3f;
            expected += std::abs(loss(config, more, batch) - loss(config, less, batch)) / 2;
        }
        LakeNet net(config, weights), twin(config, weights);
        std::vector<float> before(STATES * LakeNet::ACTIONS), after = before, averaged = before, again = before;
        net.values(all, before.data());
        net.averaged_values(averaged.data());
        CHECK(averaged == before, "the average begins with the weights");
        const double first = loss(config, weights, batch);
        net.learn(batch.squares, batch.actions, batch.targets);
        net.values(all, after.data());
        double second = 0;
        for (std::size_t sample = 0; sample < batch.squares.size(); ++sample) {
            const std::size_t at = static_cast<std::size_t>(batch.squares[sample]) * LakeNet::ACTIONS +
                                   static_cast<std::size_t>(batch.actions[sample]);
            const double error = std::abs(static_cast<double>(after[at]) - static_cast<double>(batch.targets[sample]));
            second += (error < 1 ? error * error / 2 : error - 0.5) / static_cast<double>(batch.squares.size());
        }
        CHECK(std::abs((first - second) / expected - 1) < 0.1, "the loss falls by its gradient");
        // 2. Averaged values lie on the way; equal nets stay equal, evaluated or not.
        net.averaged_values(averaged.data());
        CHECK(averaged != after && averaged != before, "the average follows");
        twin.learn(batch.squares, batch.actions, batch.targets);
        twin.values(all, again.data());
        CHECK(again == after, "equal nets");
    }
    return 0;
}
