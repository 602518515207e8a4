// Selection of edges: PUCT inside the tree; PUCT with Dirichlet noise or Gumbel with sequential halving at the root.
// Other rules are in selection_options.cpp.
#include <algorithm>
#include <cmath>

#include "search/dirichlet.h"
#include "search/search.h"
#include "util/portable_math.h"

namespace selfmate {
namespace {

// Sequential halving (mctx: seq_halving.get_sequence_of_considered_visits): the visits that the selected edge should
// have before each simulation.
void fill_schedule(std::vector<std::uint32_t>& schedule, std::uint32_t considered, std::uint32_t simulations) {
    schedule.clear();
    if (considered <= 1) {
        for (std::uint32_t i = 0; i < simulations; ++i) schedule.push_back(i);
        return;
    }
    const std::uint32_t rounds = static_cast<std::uint32_t>(std::bit_width(considered - 1));
    std::vector<std::uint32_t> visits(considered, 0);
    for (std::uint32_t left = considered; schedule.size() < simulations; left = std::max(2u, left / 2)) {
        const std::uint32_t extra = std::max(1u, simulations / (rounds * left));
        for (std::uint32_t i = 0; i < extra; ++i) {
            schedule.insert(schedule.end(), visits.begin(), visits.begin() + left);
            for (std::uint32_t j = 0; j < left; ++j) ++visits[j];
        }
    }
    schedule.resize(simulations);
}

}  // namespace

// Returns the index, below node.edges, of the edge with the highest PUCT score. Template parameters, because this is the
// innermost loop of the search. ROOT: only edges of `searchmoves_`, less `penalties_`. LIMITED: only the edges of highest
// prior, by which they are sorted.
template <bool ROOT, bool LIMITED>
std::uint32_t Search::select_puct(const Node& node) const {
    const Edge* const edges = tree_.edges_of(node);
    const std::uint32_t node_visits = std::max(1u, node.visits + node.in_flight);
    const float explore = exploration(node_visits) * std::sqrt(static_cast<float>(node_visits));
    const float first_play = node.value - config_.fpu_reduction * std::sqrt(std::max(0.0f, node.visited_prior));
    const float loss = static_cast<float>(config_.virtual_loss);
    const std::uint32_t limit = LIMITED ? move_limit(node_visits) : 0;
    std::uint32_t candidates = 0;
    float best_score = -1e30f;
    std::uint32_t best = 0;
    while (ROOT && !is_considered(0, best)) ++best;
    for (std::uint32_t i = 0; i < node.edges; ++i) {
        const Edge& edge = edges[i];
        if (ROOT && !is_considered(0, i)) continue;
        if (edge.proof.is_loss() || edge.proof.is_win())
            continue;  // a winning edge exists only at a root that is searched past its proof
        if (LIMITED && (candidates == limit || (candidates && edge.prior < config_.tail))) break;
        if (LIMITED) ++candidates;
        if (edge.in_flight && !edge.visits) {  // a leaf in flight: only if no other edge is left
            if (best_score == -1e30f) best = i;
            continue;
        }
        const float visits = static_cast<float>(edge.visits), losses = loss * static_cast<float>(edge.in_flight);
        const float n = visits + losses;
        float value = edge.visits ? edge.value : first_play;
        if (edge.in_flight && n > 0) value = ((edge.visits ? edge.value * visits : 0) - losses) / n;
        float score = value + explore * edge.prior / (1 + n);
        if (ROOT) score -= penalty(i);
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}
// For search.cpp and selection_options.cpp.
template std::uint32_t Search::select_puct<false, false>(const Node& node) const;
template std::uint32_t Search::select_puct<false, true>(const Node& node) const;
template std::uint32_t Search::select_puct<true, true>(const Node& node) const;

std::uint32_t Search::select_root() const {
    if (config_.gumbel) return select_gumbel();
    const bool is_filtered = !considered_.empty() || !penalties_.empty();
    if (!has_plain_selection_) return is_filtered ? select_by_rule<true>(0) : select_by_rule<false>(0);
    return is_filtered ? select_puct<true, false>(root()) : select_puct<false, false>(root());
}

std::uint32_t Search::select_gumbel() const {
    const Edge* const edges = tree_.edges_of(root());
    completed_values(scratch_);
    const std::uint32_t scheduled = schedule_[std::min<std::size_t>(visits_ + leaves_in_flight_, schedule_.size() - 1)];
    // The best undecided edge with that number of visits; if there is none, of the edges with the fewest visits.
    const auto best_with = [&](std::uint32_t visits) {
        std::uint32_t best = NO_NODE;
        double best_score = -1e300;
        for (std::uint32_t i = 0; i < root().edges; ++i) {
            const Edge& edge = edges[i];
            if (edge.proof.is_loss() || edge.proof.is_win() || edge.visits + edge.in_flight != visits) continue;
            if (!is_considered(0, i)) continue;
            const double score = gumbel_[i] + logit_[i] + scratch_[i];
            if (score > best_score) {
                best_score = score;
                best = i;
            }
        }
        return best;
    };
    std::uint32_t chosen = best_with(scheduled);
    if (chosen == NO_NODE) {
        std::uint32_t least = 0xffffffff;
        for (std::uint32_t i = 0; i < root().edges; ++i)
            if (!edges[i].proof.is_loss() && !edges[i].proof.is_win() && is_considered(0, i))
                least = std::min<std::uint32_t>(least, edges[i].visits + edges[i].in_flight);
        chosen = best_with(least);
    }
    return chosen == NO_NODE ? 0 : chosen;
}

// Completed Q (mctx: qtransform_completed_by_mix_value): the value of each root edge, or the mixed value where it has
// no visits, rescaled to be added to a logit.
void Search::completed_values(std::vector<double>& out) const {
    const Edge* const edges = tree_.edges_of(root());
    const std::size_t n = root().edges;
    out.assign(n, 0);
    double visited_prior = 0, weighted = 0;
    std::uint32_t visits = 0, most = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Edge& edge = edges[i];
        if (!edge.visits) continue;
        visited_prior += edge.prior;
        weighted += static_cast<double>(edge.prior) * edge.value;
        visits += edge.visits;
        most = std::max(most, edge.visits);
    }
    const double mean = visited_prior > 0 ? weighted / visited_prior : 0;
    const double mixed = (root().net_value + visits * mean) / (1.0 + visits);
    double low = 1e300, high = -1e300;
    for (std::size_t i = 0; i < n; ++i) {
        const Edge& edge = edges[i];
        out[i] = edge.proof.known() ? static_cast<double>(value_of(edge.proof, root_state_.turn))
                 : edge.visits      ? static_cast<double>(edge.value)
                                    : mixed;
        low = std::min(low, out[i]);
        high = std::max(high, out[i]);
    }
    const double scale = (static_cast<double>(config_.maxvisit_init) + most) *
                         static_cast<double>(config_.value_scale) / std::max(high - low, 1e-8);
    for (double& value : out) value = (value - low) * scale;
}

// Draws the noise of the root when its priors are known.
void Search::prepare_root() {
    constexpr std::uint64_t ROOT_NOISE = 0x726f6f74;  // "root": the purpose of this random stream
    Edge* const edges = tree_.edges_of(root());
    const std::size_t n = root().edges;
    if (config_.lcb) {
        squared_deviations_.assign(n, 0);
        deviation_counts_.assign(n, 0);
    }
    Random random(seed_, ROOT_NOISE);
    if (config_.gumbel) {
        gumbel_.resize(n);
        logit_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            gumbel_[i] = config_.gumbel_scale * -log_of(-log_of(random.uniform()));
            logit_[i] = log_of(std::max(1e-12, static_cast<double>(edges[i].prior)));
        }
        fill_schedule(
            schedule_,
            std::min<std::uint32_t>(static_cast<std::uint32_t>(config_.considered), static_cast<std::uint32_t>(n)),
            std::max(1u, visit_budget_));
        return;
    }
    if (config_.noise_epsilon > 0) mix_noise(tree_.nodes[0], config_.noise_alpha, random);
    if (config_.limits_moves()) {
        sort_edges(root());
        filter_root_moves();
    }
    if (config_.repetition_penalty > 0) penalise_repetitions();
}

// Mixes Dirichlet noise into the priors of a node.
void Search::mix_noise(Node& node, float alpha, Random& random) {
    Edge* const edges = tree_.edges_of(node);
    std::vector<double> noise;
    const double sum = draw_dirichlet(noise, node.edges, static_cast<double>(alpha), random);
    if (sum <= 0) return;
    node.visited_prior = 0;
    for (std::size_t i = 0; i < node.edges; ++i) {
        edges[i].prior =
            static_cast<float>((1 - config_.noise_epsilon) * edges[i].prior + config_.noise_epsilon * noise[i] / sum);
        if (edges[i].visits) node.visited_prior += edges[i].prior;
    }
}

// Marks the root edges of `searchmoves_`.
void Search::filter_root_moves() {
    considered_.clear();
    if (searchmoves_.empty()) return;
    for (std::size_t i = 0; i < root().edges; ++i)
        considered_.push_back(std::find(searchmoves_.begin(), searchmoves_.end(), root_move(i)) != searchmoves_.end());
}

}  // namespace selfmate
