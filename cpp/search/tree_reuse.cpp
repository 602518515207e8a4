// The tree from one search of a game to the next, and within its memory limit.
#include <algorithm>
#include <array>
#include <bit>

#include "search/search.h"

namespace selfmate {

bool Search::move_to(const SearchTask& task) {
    // 1. Find the new root in the tree.
    std::uint32_t at = NO_NODE;
    if (variant_ == &task.variant && !leaves_in_flight_ && !task.config.gumbel && !config_.gumbel &&
        !tree_.nodes.empty()) {
        // Every value in the tree contains the draw score: it must be the same for the same side.
        const float draw_score = task.root.turn == root_state_.turn ? config_.draw_score : -config_.draw_score;
        if (draw_score == task.config.draw_score && config_.solver == task.config.solver &&
            config_.limits_moves() == task.config.limits_moves() && config_.minimax == task.config.minimax &&
            config_.proven_means == task.config.proven_means)
            at = find_node(task.root);
        // With other `searchmoves` at the same root, the visits are of the old ones.
        if (at == 0 && !searchmoves_.empty() && !std::ranges::equal(searchmoves_, task.searchmoves)) at = NO_NODE;
    }
    // A node that was decided when it was expanded has no priors; a proven draw is forgotten below.
    if (at == NO_NODE || !tree_.nodes[at].edges || tree_.nodes[at].proof.is_draw()) {
        begin(task);
        return false;
    }
    // 2. Keep its subtree.
    const bool same_history = at == 0 && root_key_ == task.history.size() &&
                              std::equal(task.history.begin(), task.history.end(), selected_.keys.begin());
    Tree tree = std::move(tree_);
    if (at) tree.compact(at, 0);
    begin(task);
    tree_ = std::move(tree);
    if (!same_history) forget_draws();
    filter_root_moves();
    seek_forced_win();
    if (config_.reuse && at) {
        prepare_root();  // noise, which this node does not have yet
        return true;
    }
    if (config_.lcb) {
        squared_deviations_.assign(root().edges, 0);
        deviation_counts_.assign(root().edges, 0);
    }
    if (config_.repetition_penalty > 0) penalise_repetitions();
    return true;
}

// Returns the node of a state at most two plies below the root, or NO_NODE.
std::uint32_t Search::find_node(const State& state) const {
    const auto same = [&](const State& other) {
        return other.key == state.key && other.halfmove_clock == state.halfmove_clock &&
               std::equal(other.colors, other.colors + 2, state.colors) &&
               std::equal(other.roles, other.roles + 6, state.roles);
    };
    if (same(root_state_)) return 0;
    const auto find_below = [&](const auto& recurse, std::uint32_t at, const State& before,
                                int plies) -> std::uint32_t {
        for (std::size_t i = 0; i < tree_.nodes[at].edges; ++i) {
            const Edge& edge = tree_.edges_of(tree_.nodes[at])[i];
            if (edge.child == NO_NODE) continue;
            State next = before;
            variant_->play(next, edge.move);
            if (same(next)) return edge.child;
            if (plies > 1)
                if (const std::uint32_t found = recurse(recurse, edge.child, next, plies - 1); found != NO_NODE)
                    return found;
        }
        return NO_NODE;
    };
    return find_below(find_below, 0, root_state_, 2);
}

// Clears the proofs of draws. A draw may depend on a repetition, and repetitions depend on the root (see
// `is_repetition`). Proven wins and losses never depend on draws: a win needs one winning move, a loss needs all moves
// lost. Draws that still hold are proven again when a playout reaches them.
void Search::forget_draws() {
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
        Node& node = tree_.nodes[i];
        if (!node.edges) continue;  // stalemate does not depend on the root
        if (node.proof.is_draw()) node.proof = Proof();
        Edge* const edges = tree_.edges_of(node);
        for (std::size_t j = 0; j < node.edges; ++j)
            if (edges[j].proof.is_draw() && (edges[j].child == NO_NODE || tree_.nodes[edges[j].child].edges))
                edges[j].proof = Proof();
    }
}

void Search::prune() {
    // 1. Histogram of bytes by visits: exact below EXACT visits, by powers of two above.
    constexpr std::uint32_t EXACT = 64;
    std::array<std::size_t, EXACT + 26> bytes{};
    const auto bucket = [](std::uint32_t visits) {
        return visits < EXACT ? visits : EXACT + static_cast<std::uint32_t>(std::bit_width(visits)) - 7;
    };
    for (const Node& node : tree_.nodes) bytes[bucket(node.visits)] += sizeof(Node) + node.edges * sizeof(Edge);
    // 2. The lowest threshold above which the nodes fit into half of the limit.
    std::size_t kept = 0;
    std::uint32_t lowest = static_cast<std::uint32_t>(bytes.size());
    while (lowest > 1 && kept + bytes[lowest - 1] <= config_.max_bytes / 2) kept += bytes[--lowest];
    tree_.compact(0, lowest < EXACT ? lowest : EXACT << std::min(25u, lowest - EXACT));
}

}  // namespace selfmate
