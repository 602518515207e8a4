// The result of a search: the move to play and the statistics of all moves.
#include <algorithm>
#include <cmath>

#include "search/search.h"
#include "util/portable_math.h"

namespace selfmate {

// Lower confidence bound of a root edge's value (KataGo): five standard errors below the mean. One deviation of 1, the
// largest possible, is added as a prior.
double Search::lower_bound(std::size_t i) const {
    constexpr double STANDARD_ERRORS = 5;
    const Edge& edge = tree_.edges_of(root())[i];
    const double variance = (squared_deviations_[i] + 1) / (deviation_counts_[i] + 1.0);
    return static_cast<double>(edge.value) - STANDARD_ERRORS * std::sqrt(variance / edge.visits);
}

std::size_t Search::best(std::uint32_t at) const {
    const Node& node = tree_.nodes[at];
    const Edge* const edges = tree_.edges_of(node);
    const std::size_t n = node.edges;
    std::size_t best = 0;
    while (best + 1 < n && !is_considered(at, best)) ++best;
    // 1. A proven result decides.
    if (proof(at).known()) {
        for (std::size_t i = best + 1; i < n; ++i)
            if (is_considered(at, i) && edges[i].proof.known() &&
                (!edges[best].proof.known() || edges[i].proof.better_than(edges[best].proof)))
                best = i;
        return best;
    }
    // 2. Otherwise the most visited move that is not lost; ties by the Gumbel score, or by value and then prior for
    // PUCT. With `choose = value`: the visited move of highest value, ties by visits.
    const bool gumbel = config_.gumbel && !at, by_value = config_.choose == Choose::VALUE;
    if (gumbel) completed_values(scratch_);
    const auto score = [&](std::size_t i) -> double {
        if (gumbel) return gumbel_[i] + logit_[i] + scratch_[i];
        return edges[i].visits ? static_cast<double>(edges[i].value) : -2 + static_cast<double>(edges[i].prior);
    };
    const auto better = [&](std::size_t a, std::size_t b) {
        if (edges[a].proof.is_loss() != edges[b].proof.is_loss()) return edges[b].proof.is_loss();
        if (by_value && score(a) != score(b)) return score(a) > score(b);
        if (edges[a].visits != edges[b].visits) return edges[a].visits > edges[b].visits;
        return score(a) > score(b);
    };
    for (std::size_t i = best + 1; i < n; ++i)
        if (is_considered(at, i) && better(i, best)) best = i;
    // 3. With `lcb`: the highest lower bound among moves with at least a share of the best move's visits (KataGo:
    // 0.15).
    if (!at && squared_deviations_.size() == n && edges[best].visits && !by_value) {
        constexpr double MIN_VISIT_SHARE = 0.15;
        const double min_visits = MIN_VISIT_SHARE * edges[best].visits;
        for (std::size_t i = 0; i < n; ++i)
            if (is_considered(at, i) && !edges[i].proof.known() && edges[i].visits >= min_visits &&
                lower_bound(i) > lower_bound(best))
                best = i;
    }
    return best;
}

// Samples a root edge in proportion to visits^(1 / temperature); proven losses are never sampled.
std::size_t Search::sample(double temperature, Random& random) const {
    const std::size_t n = root().edges;
    if (temperature <= 0 || root().proof.known()) return best();
    const Edge* const edges = tree_.edges_of(root());
    std::vector<double> weights(n, 0);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (edges[i].visits && !edges[i].proof.is_loss())
            sum += weights[i] = exp_of(log_of(edges[i].visits) / temperature);
    if (sum <= 0) return best();
    double left = random.uniform() * sum;
    for (std::size_t i = 0; i < n; ++i)
        if ((left -= weights[i]) <= 0 && weights[i] > 0) return i;
    return best();
}

std::vector<MoveStats> Search::moves(std::uint32_t at) const {
    const Node& node = tree_.nodes[at];
    const Edge* const edges = tree_.edges_of(node);
    const std::size_t n = node.edges;
    std::vector<double> weights(n, 0);
    const std::size_t chosen = n ? best(at) : 0;
    if (proof(at).known()) {
        if (n) weights[chosen] = 1;
    } else if (config_.gumbel && !at) {
        // The improved policy (Danihelka et al. 2022): softmax of logits and completed Q; 0 for proven losses.
        completed_values(weights);
        double high = -1e300, sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            if (!edges[i].proof.is_loss()) high = std::max(high, weights[i] += logit_[i]);
        for (std::size_t i = 0; i < n; ++i)
            sum += weights[i] = edges[i].proof.is_loss() ? 0 : exp_of(weights[i] - high);
        for (double& weight : weights) weight /= sum;
    } else {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += weights[i] = edges[i].proof.is_loss() ? 0 : edges[i].visits;
        if (sum > 0)
            for (double& weight : weights) weight /= sum;
        else
            for (std::size_t i = 0; i < n; ++i) weights[i] = edges[i].prior;
    }
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if ((a == chosen) != (b == chosen)) return a == chosen;
        if (is_considered(at, a) != is_considered(at, b)) return is_considered(at, a);
        if (edges[a].proof.known() && edges[b].proof.known() && !(edges[a].proof == edges[b].proof))
            return edges[a].proof.better_than(edges[b].proof);
        if (edges[a].proof.is_loss() != edges[b].proof.is_loss()) return edges[b].proof.is_loss();
        if (edges[a].visits != edges[b].visits) return edges[a].visits > edges[b].visits;
        return edges[a].prior > edges[b].prior;
    });
    std::vector<MoveStats> stats;
    for (const std::size_t i : order) {
        const Edge& edge = edges[i];
        stats.push_back({
            .move = edge.move,
            .visits = edge.visits,
            .value = edge.proof.known() ? edge.proof.value() : edge.value,
            .draw = edge.draw,
            .prior = edge.prior,
            .weight = static_cast<float>(weights[i]),
            .proof = edge.proof,
            .net_value = std::nullopt,
        });
        if (edge.child == NO_NODE) continue;
        const Node& child = tree_.nodes[edge.child];
        if (!child.unevaluated && !child.by_rules) stats.back().net_value = -child.net_value;
    }
    return stats;
}

// The line of most visits, or of the best proofs, that begins with an edge of a node.
std::vector<Move> Search::principal_variation(std::size_t first, std::uint32_t at) const {
    std::vector<Move> line;
    const Edge* edge = tree_.edges_of(tree_.nodes[at]) + first;
    if (!at && !forced_line_.empty() && edge->move == forced_line_[0] && edge->proof == forced_proof_)
        return forced_line_;
    for (;;) {
        line.push_back(edge->move);
        if (edge->child == NO_NODE) return line;
        const Node& node = tree_.nodes[edge->child];
        const Edge* const edges = tree_.edges_of(node);
        const Edge* next = nullptr;
        for (std::size_t i = 0; i < node.edges; ++i) {
            if (!edges[i].visits && !edges[i].proof.known()) continue;
            if (!next || (node.proof.known() ? edges[i].proof.known() &&
                                                   (!next->proof.known() || edges[i].proof.better_than(next->proof))
                                             : edges[i].visits > next->visits))
                next = edges + i;
        }
        if (!next) return line;
        edge = next;
    }
}

std::uint32_t Search::root_child(Move move) const {
    for (std::size_t i = 0; i < root().edges; ++i)
        if (const Edge& edge = tree_.edges_of(root())[i]; edge.move == move) return edge.child;
    return NO_NODE;
}

}  // namespace selfmate
