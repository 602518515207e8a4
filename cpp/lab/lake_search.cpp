#include "lab/lake_search.h"

#include <cmath>

#include "util/portable_math.h"

namespace selfmate {

void LakeSearch::run(std::int32_t root, std::uint32_t simulations, std::uint64_t seed, std::uint64_t stream) {
    nodes_.clear();
    nodes_.push_back({.state = root});
    Random random(seed, static_cast<std::uint64_t>(root), stream);
    for (std::uint32_t number = 0; number < simulations; ++number) simulate(random);
}

void LakeSearch::simulate(Random& random) {
    // 1. Selection: descend by UCT; an outcome without a node ends the descent, and so does the end of the episode.
    path_.clear();
    std::int32_t leaf = 0;
    bool is_new = false;
    while (!is_new && !nodes_[static_cast<std::size_t>(leaf)].is_terminal) {
        LakeNode& node = nodes_[static_cast<std::size_t>(leaf)];
        const int action = select_action(node);
        const LakeAction& taken = model_.at(node.state, action);
        const auto outcome = static_cast<std::size_t>(taken.outcome(random.bits() >> 32));
        path_.push_back({.node = leaf, .action = action, .reward = taken.rewards[outcome]});
        leaf = node.children[static_cast<std::size_t>(action)][outcome];
        // 2. Expansion: one new node
        if (leaf == 0) {
            is_new = true;
            leaf = static_cast<std::int32_t>(nodes_.size());
            node.children[static_cast<std::size_t>(action)][outcome] = leaf;
            nodes_.push_back({.state = taken.next[outcome], .is_terminal = taken.ends[outcome]});
        }
    }
    // 3. Roll-out from the new node
    LakeNode& end = nodes_[static_cast<std::size_t>(leaf)];
    double value = end.is_terminal ? 0 : roll_out(end.state, random);
    ++end.visits;
    // 4. Back-up: the discounted return from each node of the path on
    for (std::size_t at = path_.size(); at-- > 0;) {
        const Step& step = path_[at];
        value = step.reward + config_.gamma * value;
        LakeNode& node = nodes_[static_cast<std::size_t>(step.node)];
        ++node.visits;
        ++node.action_visits[static_cast<std::size_t>(step.action)];
        node.value_sums[static_cast<std::size_t>(step.action)] += value;
    }
}

int LakeSearch::select_action(const LakeNode& node) const {
    for (int action = 0; action < LAKE_ACTIONS; ++action)
        if (node.action_visits[static_cast<std::size_t>(action)] == 0) return action;
    const double log_visits = log_of(node.visits);
    std::array<double, LAKE_ACTIONS> scores;
    for (std::size_t action = 0; action < LAKE_ACTIONS; ++action) {
        const double visits = node.action_visits[action];
        scores[action] = node.value_sums[action] / visits + config_.c * std::sqrt(log_visits / visits);
    }
    int best = 0;
    for (int action = 1; action < LAKE_ACTIONS; ++action)
        if (scores[static_cast<std::size_t>(action)] > scores[static_cast<std::size_t>(best)]) best = action;
    return best;
}

double LakeSearch::roll_out(std::int32_t state, Random& random) const {
    double value = 0, discount = 1;
    for (int step = 0; step < config_.rollout_steps; ++step) {
        const std::uint64_t bits = random.bits();
        const std::int8_t wanted = model_.policy[static_cast<std::size_t>(state)];
        const int action = wanted == RANDOM_ACTION ? static_cast<int>(bits & 3) : wanted;
        const LakeAction& taken = model_.at(state, action);
        const auto outcome = static_cast<std::size_t>(taken.outcome(bits >> 32));
        value += discount * taken.rewards[outcome];
        if (taken.ends[outcome]) return value;
        discount *= config_.gamma;
        state = taken.next[outcome];
    }
    return value + discount * model_.leaf_values[static_cast<std::size_t>(state)];
}

int LakeSearch::best_action() const {
    const LakeNode& root = nodes_.front();
    int best = -1;
    double best_value = 0;
    for (int action = 0; action < LAKE_ACTIONS; ++action) {
        const std::uint32_t visits = root.action_visits[static_cast<std::size_t>(action)];
        if (visits == 0) continue;
        const double value = root.value_sums[static_cast<std::size_t>(action)] / visits;
        const bool is_tie = best >= 0 && value == best_value;
        if (best < 0 || value > best_value || (is_tie && visits > root.action_visits[static_cast<std::size_t>(best)])) {
            best = action;
            best_value = value;
        }
    }
    return best;
}

std::vector<std::int64_t> LakeSearch::plan(std::span<const std::int32_t> states, std::uint32_t simulations,
                                           std::uint32_t repeats, std::uint64_t seed, PlanBy by) {
    std::vector<std::int64_t> counts(states.size() * LAKE_ACTIONS);
    for (std::size_t number = 0; number < states.size(); ++number) {
        for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
            run(states[number], simulations, seed, repeat);
            std::int64_t* of_state = counts.data() + number * LAKE_ACTIONS;
            if (by == PlanBy::value) {
                ++of_state[best_action()];
            } else {
                for (int action = 0; action < LAKE_ACTIONS; ++action)
                    of_state[action] += nodes_.front().action_visits[static_cast<std::size_t>(action)];
            }
        }
    }
    return counts;
}

}  // namespace selfmate
