// Selection of edges: PUCT inside the tree; PUCT with Dirichlet noise or Gumbel with sequential halving at the root.
#include <algorithm>
#include <cmath>

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

// A gamma variate (Marsaglia and Tsang 2000), for Dirichlet noise.
double gamma_variate(double alpha, Random& random) {
    if (alpha < 1) return gamma_variate(alpha + 1, random) * exp_of(log_of(random.uniform()) / alpha);
    const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
        // A normal variate by Marsaglia's polar method.
        double x, s;
        do {
            x = 2 * random.uniform() - 1;
            const double y = 2 * random.uniform() - 1;
            s = x * x + y * y;
        } while (s >= 1 || s == 0);
        x *= std::sqrt(-2 * log_of(s) / s);
        const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        if (v > 0 && log_of(random.uniform()) < 0.5 * x * x + d - d * v + d * log_of(v)) return d * v;
    }
}

}  // namespace

// Returns the index, below node.edges, of the edge with the highest PUCT score. FILTERED: only root edges of
// `searchmoves_`; a template parameter, because this is the innermost loop of the search.
template <bool FILTERED>
std::uint32_t Search::select_puct(const Node& node) const {
    const Edge* const edges = tree_.edges_of(node);
    const float explore = config_.cpuct * std::sqrt(static_cast<float>(std::max(1u, node.visits + node.in_flight)));
    const float first_play = node.value - config_.fpu_reduction * std::sqrt(std::max(0.0f, node.visited_prior));
    const float loss = static_cast<float>(config_.virtual_loss);
    float best_score = -1e30f;
    std::uint32_t best = 0;
    while (FILTERED && !considered_[best]) ++best;
    for (std::uint32_t i = 0; i < node.edges; ++i) {
        const Edge& edge = edges[i];
        if (FILTERED && !considered_[i]) continue;
        if (edge.proof.is_loss() || edge.proof.is_win())
            continue;                          // a winning edge exists only at a root that is searched past its proof
        if (edge.in_flight && !edge.visits) {  // a leaf in flight: only if no other edge is left
            if (best_score == -1e30f) best = i;
            continue;
        }
        const float visits = static_cast<float>(edge.visits), losses = loss * static_cast<float>(edge.in_flight);
        const float n = visits + losses;
        float value = edge.visits ? edge.value : first_play;
        if (edge.in_flight && n > 0) value = ((edge.visits ? edge.value * visits : 0) - losses) / n;
        const float score = value + explore * edge.prior / (1 + n);
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}
template std::uint32_t Search::select_puct<false>(const Node& node) const;  // for search.cpp

std::uint32_t Search::select_root() const {
    if (config_.gumbel) return select_gumbel();
    return considered_.empty() ? select_puct<false>(root()) : select_puct<true>(root());
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
    } else if (config_.noise_epsilon > 0) {
        std::vector<double> noise(n);
        double sum = 0;
        for (double& each : noise) sum += each = gamma_variate(config_.noise_alpha, random);
        for (std::size_t i = 0; i < n && sum > 0; ++i)
            edges[i].prior = static_cast<float>((1 - config_.noise_epsilon) * edges[i].prior +
                                                config_.noise_epsilon * noise[i] / sum);
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
