// Selection by other rules than plain PUCT: UCB1, the noise bonus, PUCT over some of the moves.
#include <algorithm>
#include <cmath>

#include "search/dirichlet.h"
#include "search/search.h"
#include "util/portable_math.h"

namespace selfmate {

template <bool ROOT>
std::uint32_t Search::select_by_rule(std::uint32_t at) const {
    const Node& node = tree_.nodes[at];
    if (config_.select == Select::UCB1) return select_ucb1<ROOT>(node);
    if (config_.select == Select::NOISE) return select_by_noise<ROOT>(at);
    return select_puct<ROOT, true>(node);
}
template std::uint32_t Search::select_by_rule<false>(std::uint32_t at) const;  // for search.cpp and selection.cpp
template std::uint32_t Search::select_by_rule<true>(std::uint32_t at) const;

// Returns the edge with the highest score of `score(edge index, sum of values, visits)`, in which playouts in flight
// count as losses. As in `select_puct`, edges that are proven won or lost are left out, and a leaf in flight is taken
// only if no other edge is left.
template <bool ROOT, class Score>
std::uint32_t Search::select_highest(const Node& node, Score score) const {
    const Edge* const edges = tree_.edges_of(node);
    float best_score = -1e30f;
    std::uint32_t best = 0;
    while (ROOT && !is_considered(0, best)) ++best;
    for (std::uint32_t i = 0; i < node.edges; ++i) {
        const Edge& edge = edges[i];
        if ((ROOT && !is_considered(0, i)) || edge.proof.is_loss() || edge.proof.is_win()) continue;
        if (edge.in_flight && !edge.visits) {
            if (best_score == -1e30f) best = i;
            continue;
        }
        const float visits = static_cast<float>(edge.visits);
        const float losses = static_cast<float>(config_.virtual_loss) * static_cast<float>(edge.in_flight);
        float found = score(i, edge.value * visits - losses, visits + losses);
        if (ROOT) found -= penalty(i);
        if (found > best_score) {
            best_score = found;
            best = i;
        }
    }
    return best;
}

// UCB1 (Auer et al. 2002) with the mean value of a move; untried moves come first, in their order.
template <bool ROOT>
std::uint32_t Search::select_ucb1(const Node& node) const {
    constexpr float UNTRIED = 1e20f;
    const float log_visits = static_cast<float>(log_of(std::max(1u, node.visits + node.in_flight)));
    return select_highest<ROOT>(node, [&](std::uint32_t, float sum, float n) {
        return n > 0 ? sum / n + config_.cpuct * std::sqrt(log_visits / n) : UNTRIED;
    });
}

// Instead of a prior each move has a share of Dirichlet noise, which is drawn anew for every playout through the node.
template <bool ROOT>
std::uint32_t Search::select_by_noise(std::uint32_t at) const {
    constexpr std::uint64_t SELECTION_NOISE = 0x73656c65;  // "sele": the purpose of this random stream
    const Node& node = tree_.nodes[at];
    const std::uint32_t node_visits = std::max(1u, node.visits + node.in_flight);
    Random random(seed_, SELECTION_NOISE, at, node_visits);
    const double total = draw_dirichlet(scratch_, node.edges, static_cast<double>(config_.noise_alpha), random);
    const double scale = total > 0 ? static_cast<double>(config_.cpuct) / total : 0;
    const float visits = static_cast<float>(node_visits);
    return select_highest<ROOT>(node, [&](std::uint32_t i, float sum, float n) {
        return sum / (n + 1) + static_cast<float>(scale * scratch_[i]) * std::sqrt(visits / (n + 1));
    });
}

// The number of moves that a node with this many visits searches.
std::uint32_t Search::move_limit(std::uint32_t visits) const {
    std::uint32_t limit = config_.top_k ? static_cast<std::uint32_t>(config_.top_k) : MAX_MOVES;
    if (config_.widening > 0) {
        const float wide = std::ceil(config_.widening * std::sqrt(static_cast<float>(visits)));
        if (wide < static_cast<float>(limit)) limit = static_cast<std::uint32_t>(wide);
    }
    return limit;
}

// The exploration constant that grows with the visits of a node (Silver et al. 2018).
float Search::growing_exploration(std::uint32_t visits) const {
    const double base = static_cast<double>(config_.cpuct_base);
    return config_.cpuct + static_cast<float>(log_of((visits + base) / base));
}

// Sorts the edges of a node by their priors, highest first; equal ones keep their order. No leaf may be in flight below
// the node.
void Search::sort_edges(const Node& node) {
    Edge* const edges = tree_.edges_of(node);
    std::stable_sort(edges, edges + node.edges, [](const Edge& a, const Edge& b) { return a.prior > b.prior; });
}

// Dirichlet noise in the priors of a new node below the root.
void Search::mix_noise_below(std::uint32_t at, Key key, std::size_t depth) {
    constexpr std::uint64_t NODE_NOISE = 0x6e6f6465;  // "node": the purpose of this random stream
    Random random(seed_, NODE_NOISE, key, depth);
    mix_noise(tree_.nodes[at], config_.noise_alpha_below, random);
}

// Finds the root moves to positions that have occurred in the game.
void Search::penalise_repetitions() {
    SelectedPath path;
    path.keys = selected_.keys;
    penalties_.clear();
    for (std::size_t i = 0; i < root().edges; ++i) {
        path.moves.assign(1, root_move(i));
        make_moves(path);
        penalties_.push_back(path.repeated ? config_.repetition_penalty : 0.0f);
    }
}

// Whether one root move has so large a share of the visits that the search ends.
bool Search::is_dominated() const {
    if (visits_ < config_.stop_min_visits) return false;
    const Edge* const edges = tree_.edges_of(root());
    std::uint32_t sum = 0, most = 0;
    for (std::size_t i = 0; i < root().edges; ++i) {
        sum += edges[i].visits;
        most = std::max(most, edges[i].visits);
    }
    return static_cast<double>(most) > static_cast<double>(config_.stop_share) * sum;
}

}  // namespace selfmate
