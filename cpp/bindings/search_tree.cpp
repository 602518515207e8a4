// Python: the tree of a search as rows, the most visited first.
#include "bindings/search_tree.h"

#include <queue>

#include "bindings/bindings.h"
#include "bindings/single_search.h"

namespace selfmate {
namespace {

// An edge that may become a row. The queue yields the most visited first; of equals, the one that was found first.
struct Candidate {
    std::uint32_t visits;
    std::uint64_t order;
    std::uint32_t parent_row;
    std::uint32_t depth;
    const Edge* edge;

    bool operator<(const Candidate& other) const {
        return visits != other.visits ? visits < other.visits : order > other.order;
    }
};

// A proof of the side that moves, seen by the side to move at the root.
std::optional<int> proven(Proof proof, bool same_side) {
    if (!proof.known()) return std::nullopt;
    const int plies = proof.is_loss() ? -proof.plies() : proof.plies();
    return same_side ? plies : -plies;
}

TreeRow root_row(const Search& search) {
    const Node& root = search.root();
    const Proof proof = search.proof();
    float draw = 0;
    std::uint32_t visits = 0;
    for (std::size_t i = 0; i < root.edges; ++i) {
        const Edge& edge = search.tree().edges_of(root)[i];
        draw += edge.draw * static_cast<float>(edge.visits);
        visits += edge.visits;
    }
    draw = proof.known() ? float(proof.is_draw()) : draw / static_cast<float>(std::max(1u, visits));
    const float value = proof.known() ? proof.value() : root.value;
    const std::optional<float> net_value = root.by_rules ? std::nullopt : std::optional(root.net_value);
    return {-1, 0, std::nullopt, root.visits, value, draw, 1.0f, net_value, proven(proof, true)};
}

TreeRow row_of(const Search& search, const Candidate& found) {
    const Edge& edge = *found.edge;
    const bool same_side = found.depth % 2 == 1;
    const float sign = same_side ? 1.0f : -1.0f;
    std::optional<float> net_value;
    if (edge.child < EXPANDING)
        if (const Node& child = search.tree().nodes[edge.child]; !child.unevaluated && !child.by_rules)
            net_value = -sign * child.net_value;
    return {static_cast<int>(found.parent_row),
            static_cast<int>(found.depth),
            edge.move,
            edge.visits,
            sign * (edge.proof.known() ? edge.proof.value() : edge.value),
            edge.draw,
            edge.prior,
            net_value,
            proven(edge.proof, same_side)};
}

}  // namespace

std::vector<TreeRow> tree_rows(const Search& search, std::uint32_t max_depth, std::size_t max_nodes,
                               std::uint32_t min_visits) {
    std::vector<TreeRow> rows{root_row(search)};
    std::priority_queue<Candidate> queue;
    std::uint64_t order = 0;
    const auto add_edges = [&](std::uint32_t at, std::size_t row, std::uint32_t depth) {
        const Node& node = search.tree().nodes[at];
        for (std::size_t i = 0; depth <= max_depth && i < node.edges; ++i) {
            const Edge* const edge = search.tree().edges_of(node) + i;
            if (edge->visits >= min_visits || edge->proof.known())
                queue.push({edge->visits, order++, static_cast<std::uint32_t>(row), depth, edge});
        }
    };
    add_edges(0, 0, 1);
    while (!queue.empty() && rows.size() < max_nodes) {
        const Candidate found = queue.top();
        queue.pop();
        rows.push_back(row_of(search, found));
        if (found.edge->child < EXPANDING) add_edges(found.edge->child, rows.size() - 1, found.depth + 1);
    }
    return rows;
}

}  // namespace selfmate
