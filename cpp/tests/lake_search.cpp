// The search of the classroom on a corridor whose best return is known: bounds of the tree, equal trees from equal seeds.
#include "lab/lake_search.h"

#include <cmath>

#include "tests/check.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

// Squares 0 … 5 in a row; RIGHT (2) moves on with probability 2/3 and stays otherwise, everything else stays. Square 5 is
// the goal.
LakeModel corridor(std::int8_t rollout) {
    constexpr std::int32_t SIZE = 6;
    LakeModel model;
    for (std::int32_t state = 0; state < SIZE; ++state) {
        for (int action = 0; action < LAKE_ACTIONS; ++action) {
            LakeAction made;
            const bool moves = action == 2 && state + 1 < SIZE;
            made.bounds = {moves ? 2'863'311'531u : std::uint64_t(1) << 32, std::uint64_t(1) << 32};
            made.next = {moves ? state + 1 : state, state, state};
            made.ends = {made.next[0] == SIZE - 1, false, false};
            made.rewards = {made.ends[0] ? 100.0 : -1.0, -1, -1};
            model.actions.push_back(made);
        }
        model.policy.push_back(rollout);
        model.leaf_values.push_back(0);
    }
    return model;
}

}  // namespace

int main() {
    for (const std::int8_t rollout : {RANDOM_ACTION, std::int8_t(2)}) {
        LakeSearch search(corridor(rollout), {.c = 50, .gamma = 0.99, .rollout_steps = 50});
        const std::uint32_t simulations = 20'000 / SHARE;
        search.run(0, simulations, 7);
        const std::vector<LakeNode> first = search.nodes();
        CHECK(search.best_action() == 2, "corridor");
        CHECK(first.front().visits == simulations, "root");
        CHECK(first.size() <= simulations + 1, "one new node for each simulation");
        for (const LakeNode& node : first) {
            std::uint32_t sum = 0;
            for (const std::uint32_t visits : node.action_visits) sum += visits;
            CHECK(node.is_terminal || sum + (&node != &first.front()) == node.visits, "visits of a node");
        }
        search.run(0, simulations, 7);
        CHECK(search.nodes().size() == first.size(), "equal seeds");
        CHECK(search.nodes().front().value_sums == first.front().value_sums, "equal seeds");
        search.run(0, simulations, 8);
        CHECK(search.nodes().front().value_sums != first.front().value_sums, "another seed");
    }
    // From square 4 the return of RIGHT is V = 2/3 100 + 1/3 (-1 + 0.99 V), and the roll-outs know it.
    LakeSearch search(corridor(2), {.c = 0, .gamma = 0.99, .rollout_steps = 1000});
    search.run(4, 40'000, 1);
    const LakeNode& root = search.nodes().front();
    const double value = root.value_sums[2] / root.action_visits[2];
    CHECK(std::abs(value - (200.0 / 3 - 1.0 / 3) / (1 - 0.33)) < 0.5, std::to_string(value));
    return finish();
}
