// Monte-Carlo tree search for one player with chance, on the exact model of a small world such as Frozen Lake (seed 003,
// chapter 2): UCT at decision nodes, sampled outcomes at chance nodes, roll-outs, discounted returns. The plain Python
// twin is src/selfmate/lab/frozenlake/mcts.py, and the tests compare both trees number by number.
//
// Words are those of the chess search (search/search.h): visits, value, expansion, back-up. What differs: one player, so
// that no sign changes in the back-up; an action leads to one of up to three outcomes, which are drawn; a leaf is
// evaluated by a roll-out instead of a net; UCT has no priors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "util/random.h"

namespace selfmate {

constexpr int LAKE_ACTIONS = 4;   // left, down, right, up
constexpr int LAKE_OUTCOMES = 3;  // most outcomes of an action

// What an action in a state leads to. An outcome is drawn with 32 random bits: the first if they are below bounds[0],
// else the second if they are below bounds[1], else the third.
struct LakeAction {
    std::array<std::uint64_t, LAKE_OUTCOMES - 1> bounds = {};
    std::array<double, LAKE_OUTCOMES> rewards = {};
    std::array<std::int32_t, LAKE_OUTCOMES> next = {};
    std::array<bool, LAKE_OUTCOMES> ends = {};  // whether the episode is over after this outcome

    int outcome(std::uint64_t bits32) const { return (bits32 >= bounds[0]) + (bits32 >= bounds[1]); }
};

constexpr std::int8_t RANDOM_ACTION = -1;

struct LakeModel {
    std::vector<LakeAction> actions;  // [states * LAKE_ACTIONS]
    std::vector<std::int8_t> policy;  // [states]: the action that a roll-out takes, or RANDOM_ACTION
    std::vector<double> leaf_values;  // [states]: the return that is expected where a roll-out stops before the end
    std::size_t states() const { return policy.size(); }
    const LakeAction& at(std::int32_t state, int action) const {
        return actions[static_cast<std::size_t>(state) * LAKE_ACTIONS + static_cast<std::size_t>(action)];
    }
};

struct LakeSearchConfig {
    double c = 1;  // exploration constant of UCT, in units of the return
    double gamma = 0.99;
    int rollout_steps = 50;
};

// A decision node. Its chance nodes are its four actions, each with a child per outcome.
struct LakeNode {
    std::int32_t state = 0;
    bool is_terminal = false;
    std::uint32_t visits = 0;
    std::array<std::uint32_t, LAKE_ACTIONS> action_visits = {};
    std::array<double, LAKE_ACTIONS> value_sums = {};  // sum of discounted returns after the action
    std::array<std::array<std::int32_t, LAKE_OUTCOMES>, LAKE_ACTIONS> children =
        {};  // 0: none, for the root is no child
};

// What makes a policy of searches: the action with the highest value of each, or all actions in proportion to their
// visits.
enum class PlanBy : std::uint8_t { value, visits };

class LakeSearch {
public:
    LakeSearch(LakeModel model, const LakeSearchConfig& config) : model_(std::move(model)), config_(config) {}

    // Builds a new tree from `root` with this many simulations. Equal arguments build equal trees on every machine.
    void run(std::int32_t root, std::uint32_t simulations, std::uint64_t seed, std::uint64_t stream = 0);

    // The action with the highest value at the root; among equals the one with more visits, then the first.
    int best_action() const;

    // Searches `repeats` times from each state and counts the best actions, or the visits of every action at the root:
    // [states.size() * LAKE_ACTIONS].
    std::vector<std::int64_t> plan(std::span<const std::int32_t> states, std::uint32_t simulations,
                                   std::uint32_t repeats, std::uint64_t seed, PlanBy by = PlanBy::value);

    const std::vector<LakeNode>& nodes() const { return nodes_; }
    const LakeModel& model() const { return model_; }

private:
    struct Step {
        std::int32_t node;
        int action;
        double reward;
    };

    void simulate(Random& random);
    int select_action(const LakeNode& node) const;
    double roll_out(std::int32_t state, Random& random) const;

    LakeModel model_;
    LakeSearchConfig config_;
    std::vector<LakeNode> nodes_;  // the root is the first
    std::vector<Step> path_;
};

}  // namespace selfmate
