#include "search.h"

#include <algorithm>
#include <cmath>

#include "encode.h"

namespace selfmate {
namespace {

// Visits that a candidate should have had before each simulation of sequential halving (as mctx has it).
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
        // A normal variate by the polar method.
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

void Search::begin(const Variant& variant, const State& root, std::span<const Key> history, const SearchConfig& config,
                   std::uint32_t visits, std::uint64_t seed) {
    variant_ = &variant;
    config_ = config;
    root_state_ = root;
    budget_ = visits;
    seed_ = seed;
    tree_.clear();
    line_.assign(history.begin(), history.end());
    root_at_ = line_.size();
    line_.push_back(root.key);
    leaves_.clear();
    free_leaves_.clear();
    done_visits_ = waiting_ = collisions_ = max_depth_ = 0;
    depth_sum_ = 0;
}

bool Search::done() const {
    if (tree_.nodes.empty() || root().waiting) return false;
    if (waiting_) return false;
    if (!root().edges || done_visits_ >= budget_ || tree_.bytes() > config_.max_bytes) return true;
    return root().proof.known() && (config_.stop_when_proven || !root().proof.is_win() || root().proof.plies() <= 1);
}

bool Search::wants_playout() const {
    if (tree_.nodes.empty()) return true;
    if (root().waiting || !root().edges || tree_.bytes() > config_.max_bytes) return false;
    if (root().proof.known() && (config_.stop_when_proven || !root().proof.is_win() || root().proof.plies() <= 1))
        return false;
    return done_visits_ + waiting_ < budget_;
}

// ---- one playout, from the root to a leaf ------------------------------------------------------

Playout Search::playout() {
    State state = root_state_;
    path_.clear();
    line_.resize(root_at_ + 1);
    bool repeated = false;
    std::uint32_t at;
    if (tree_.nodes.empty()) {
        is_repetition(state, repeated);
        line_.resize(root_at_ + 1);
        at = expand(state);
    } else {
        for (at = 0;;) {
            // 1. Select an edge. A position that waits for its evaluation ends the walk.
            if (tree_.nodes[at].waiting) {
                release(path_);
                ++collisions_;
                return Playout::BLOCKED;
            }
            const std::uint32_t index = at == 0 ? select_root() : select(tree_.nodes[at]);
            Node& node = tree_.nodes[at];
            Edge& edge = tree_.edges[node.first_edge + index];
            path_.push_back(at);
            path_.push_back(node.first_edge + index);
            ++node.in_flight;
            if (!edge.visits && !edge.in_flight) node.visited_prior += edge.prior;
            ++edge.in_flight;
            // 2. Play it. What is known to be decided is not searched again.
            variant_->play(state, edge.move);
            if (edge.proof.known()) {
                back_up(path_, -worth(edge.proof, ~state.turn), edge.proof.is_draw() ? 1.0f : 0.0f);
                return Playout::BACKED_UP;
            }
            if (edge.child != NO_NODE) {
                at = edge.child;
                line_.push_back(state.key);
                continue;
            }
            // 3. A new position: a draw by the rules of counting ends the game here (mate was seen before).
            const bool drawn = is_repetition(state, repeated) || state.halfmove_clock >= 100 ||
                               (variant_->cannot_win(state, WHITE) && variant_->cannot_win(state, BLACK));
            if (drawn) {
                edge.proof = Proof::draw();
                back_up(path_, worth(Proof::draw(), state.turn), 1);
                prove(path_);
                return Playout::BACKED_UP;
            }
            // 4. Its legal moves become edges, and results that are one move away are seen at once.
            const std::uint32_t parent_edge = path_.back();
            at = expand(state);
            tree_.edges[parent_edge].child = at;
            break;
        }
    }
    const std::uint32_t depth = static_cast<std::uint32_t>(path_.size() / 2);
    depth_sum_ += depth;
    max_depth_ = std::max(max_depth_, depth);
    if (const Proof proof = tree_.nodes[at].proof; proof.known()) {
        tree_.nodes[at].net_value = proof.value();
        if (path_.empty()) {
            prepare_root();
            return Playout::BACKED_UP;
        }
        tree_.edges[path_.back()].proof = proof.for_mover();
        back_up(path_, worth(proof, state.turn), proof.is_draw() ? 1.0f : 0.0f);
        prove(path_);
        return Playout::BACKED_UP;
    }
    // 5. The leaf waits for the evaluator.
    tree_.nodes[at].waiting = true;
    ++waiting_;
    if (free_leaves_.empty()) {
        free_leaves_.push_back(static_cast<std::uint32_t>(leaves_.size()));
        leaves_.emplace_back();
    }
    last_leaf_ = free_leaves_.back();
    free_leaves_.pop_back();
    Leaf& leaf = leaves_[last_leaf_];
    leaf.state = state;
    leaf.repeated = repeated;
    leaf.key = encoded_key(state, repeated);
    leaf.node = at;
    leaf.path.assign(path_.begin(), path_.end());
    return Playout::LEAF;
}

void Search::apply(std::uint32_t id, std::span<const float> priors, const float* wdl) {
    // 6. The evaluator's answer: priors for the edges, a value to back up.
    Leaf& leaf = leaves_[id];
    Node& node = tree_.nodes[leaf.node];
    Edge* const edges = tree_.edges_of(node);
    for (std::size_t i = 0; i < node.edges; ++i) edges[i].prior = i < priors.size() ? priors[i] : 0.0f;
    node.waiting = false;
    --waiting_;
    const float value = std::clamp(wdl[0] - wdl[2] + wdl[1] * worth(Proof::draw(), leaf.state.turn), -1.0f, 1.0f);
    node.net_value = value;
    if (leaf.path.empty()) {
        node.value = value;
        node.visits = 1;
        prepare_root();
    } else {
        back_up(leaf.path, value, wdl[1]);
    }
    free_leaves_.push_back(id);
}

float Search::worth(Proof proof, Color side) const {
    if (!proof.is_draw()) return proof.value();
    return side == root_state_.turn ? config_.draw_score : -config_.draw_score;
}

// 7. Back up: each edge on the path gets the value from its mover's side; what was in flight has arrived.
void Search::back_up(std::span<const std::uint32_t> path, float value, float draw) {
    const auto add = [](float& mean, float sample, std::uint32_t n) {
        mean += (sample - mean) / static_cast<float>(n);
    };
    // The leaf's own node, where there is one.
    const std::uint32_t leaf = tree_.edges[path.back()].child;
    if (leaf != NO_NODE && path[path.size() - 2] != leaf) {
        Node& node = tree_.nodes[leaf];
        ++node.visits;
        add(node.value, value, node.visits);
    }
    for (std::size_t i = path.size(); i >= 2; i -= 2) {
        Node& node = tree_.nodes[path[i - 2]];
        Edge& edge = tree_.edges[path[i - 1]];
        value = -value;
        --edge.in_flight;
        --node.in_flight;
        ++edge.visits;
        ++node.visits;
        add(edge.value, value, edge.visits);
        add(edge.draw, draw, edge.visits);
        add(node.value, value, node.visits);
    }
    ++done_visits_;
}

// A walk that led nowhere leaves no trace.
void Search::release(std::span<const std::uint32_t> path) {
    for (std::size_t i = 0; i < path.size(); i += 2) {
        Edge& edge = tree_.edges[path[i + 1]];
        --tree_.nodes[path[i]].in_flight;
        --edge.in_flight;
        if (!edge.visits && !edge.in_flight) tree_.nodes[path[i]].visited_prior -= edge.prior;
    }
}

// ---- selection ---------------------------------------------------------------------------------

std::uint32_t Search::select(const Node& node) const {
    const Edge* const edges = tree_.edges_of(node);
    const float explore = config_.cpuct * std::sqrt(static_cast<float>(std::max(1u, node.visits + node.in_flight)));
    const float untried = node.value - config_.fpu_reduction * std::sqrt(std::max(0.0f, node.visited_prior));
    const float loss = static_cast<float>(config_.virtual_loss);
    float best_score = -1e30f;
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < node.edges; ++i) {
        const Edge& edge = edges[i];
        if (edge.proof.is_loss() || edge.proof.is_win())
            continue;                          // only a root that is won already still looks past its wins
        if (edge.in_flight && !edge.visits) {  // its position waits: another one may be evaluated beside it
            if (best_score == -1e30f) best = i;
            continue;
        }
        const float visits = static_cast<float>(edge.visits), flying = loss * static_cast<float>(edge.in_flight);
        const float n = visits + flying;
        float value = edge.visits ? edge.value : untried;
        if (edge.in_flight && n > 0) value = ((edge.visits ? edge.value * visits : 0) - flying) / n;
        const float score = value + explore * edge.prior / (1 + n);
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

std::uint32_t Search::select_root() const { return config_.gumbel ? select_gumbel() : select(root()); }

std::uint32_t Search::select_gumbel() const {
    const Edge* const edges = tree_.edges_of(root());
    completed_values(scratch_);
    const std::uint32_t wanted = schedule_[std::min<std::size_t>(done_visits_ + waiting_, schedule_.size() - 1)];
    // The best of those with as many visits as the schedule says; if all those are decided, of the least visited.
    const auto pick = [&](std::uint32_t visits) {
        std::uint32_t best = NO_NODE;
        double best_score = -1e300;
        for (std::uint32_t i = 0; i < root().edges; ++i) {
            const Edge& edge = edges[i];
            if (edge.proof.is_loss() || edge.proof.is_win() || edge.visits + edge.in_flight != visits) continue;
            const double score = gumbel_[i] + logit_[i] + scratch_[i];
            if (score > best_score) {
                best_score = score;
                best = i;
            }
        }
        return best;
    };
    std::uint32_t chosen = pick(wanted);
    if (chosen == NO_NODE) {
        std::uint32_t least = 0xffffffff;
        for (std::uint32_t i = 0; i < root().edges; ++i)
            if (!edges[i].proof.is_loss() && !edges[i].proof.is_win())
                least = std::min<std::uint32_t>(least, edges[i].visits + edges[i].in_flight);
        chosen = pick(least);
    }
    return chosen == NO_NODE ? 0 : chosen;
}

// Each root edge's value, or where it has none the mixed value of the visited ones (mctx:
// qtransform_completed_by_mix_value), scaled to be added to a logit.
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
        out[i] = edge.proof.known() ? static_cast<double>(worth(edge.proof, root_state_.turn))
                 : edge.visits      ? static_cast<double>(edge.value)
                                    : mixed;
        low = std::min(low, out[i]);
        high = std::max(high, out[i]);
    }
    const double scale = (static_cast<double>(config_.maxvisit_init) + most) *
                         static_cast<double>(config_.value_scale) / std::max(high - low, 1e-8);
    for (double& value : out) value = (value - low) * scale;
}

// ---- expansion and proof -----------------------------------------------------------------------

// Looks back over the line. A position that occurred at the root or below it is a draw, one from before the
// root only the third time.
bool Search::is_repetition(const State& state, bool& repeated) const {
    int before_root = 0;
    repeated = false;
    const bool at_root = path_.empty();
    const std::size_t here = at_root ? root_at_ : line_.size();
    const std::size_t reach = std::min<std::size_t>(state.halfmove_clock, here);
    for (std::size_t back = 4; back <= reach; back += 2) {
        if (line_[here - back] != state.key) continue;
        repeated = true;
        if (here - back >= root_at_) return true;
        if (++before_root == 2) return true;
    }
    return false;
}

// What a move leads to if the game is over after it, for the side that moves.
Proof Search::result_of(const State& state, Move move) const {
    State next = state;
    variant_->play(next, move);
    Outcome outcome;
    if (variant_->has_ended(next)) {
        outcome = variant_->ending(next);
    } else {
        const bool in_check = variant_->checkers(next, next.turn);
        if (!in_check && next.of(next.turn)) return {};  // stalemate is seen when the position is reached
        if (variant_->count_moves(next)) return {};
        outcome = variant_->without_moves(next, in_check);
    }
    if (outcome.winner == Winner::NOBODY) return Proof::draw();
    return outcome.winner == winner(state.turn) ? Proof::win(1) : Proof::loss(1);
}

std::uint32_t Search::expand(const State& state) {
    const std::uint32_t at = static_cast<std::uint32_t>(tree_.nodes.size());
    MoveList moves;
    variant_->legal_moves(state, moves);
    Node node;
    node.first_edge = static_cast<std::uint32_t>(tree_.edges.size());
    node.edges = static_cast<std::uint16_t>(moves.size());
    if (!moves.size()) {  // only stalemate comes here, and what a variant makes of it
        const Outcome outcome = variant_->has_ended(state)
                                    ? variant_->ending(state)
                                    : variant_->without_moves(state, variant_->checkers(state, state.turn));
        node.proof = outcome.winner == Winner::NOBODY       ? Proof::draw()
                     : outcome.winner == winner(state.turn) ? Proof::win(0)
                                                            : Proof::loss(0);
    }
    Proof best;
    bool all_known = moves.size() > 0;
    tree_.edges.resize(tree_.edges.size() + moves.size());
    Edge* edge = tree_.edges.data() + node.first_edge;
    for (const Move move : moves) {
        *edge = Edge{.prior = 0, .move = move, .proof = result_of(state, move)};
        if (!edge->proof.known())
            all_known = false;
        else if (!best.known() || edge->proof.better_than(best))
            best = edge->proof;
        ++edge;
    }
    if (best.is_win() || (all_known && best.known())) node.proof = best;
    tree_.nodes.push_back(node);
    return at;
}

// 8. Carry a proof towards the root as far as it decides anything.
void Search::prove(std::span<const std::uint32_t> path) {
    for (std::size_t i = path.size(); i >= 2; i -= 2) {
        Node& node = tree_.nodes[path[i - 2]];
        const Edge* const edges = tree_.edges_of(node);
        Proof best;
        bool all_known = true;
        for (std::size_t j = 0; j < node.edges; ++j) {
            if (!edges[j].proof.known())
                all_known = false;
            else if (!best.known() || edges[j].proof.better_than(best))
                best = edges[j].proof;
        }
        if (!best.is_win() && !all_known) return;
        if (node.proof == best) return;
        node.proof = best;
        if (i >= 4) tree_.edges[path[i - 3]].proof = best.for_mover();
    }
}

// ---- root --------------------------------------------------------------------------------------

void Search::prepare_root() {
    Edge* const edges = tree_.edges_of(root());
    const std::size_t n = root().edges;
    Random random(seed_, 0x726f6f74);
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
            std::max(1u, budget_));
    } else if (config_.noise_epsilon > 0) {
        std::vector<double> noise(n);
        double sum = 0;
        for (double& each : noise) sum += each = gamma_variate(config_.noise_alpha, random);
        for (std::size_t i = 0; i < n && sum > 0; ++i)
            edges[i].prior = static_cast<float>((1 - config_.noise_epsilon) * edges[i].prior +
                                                config_.noise_epsilon * noise[i] / sum);
    }
}

std::size_t Search::best() const {
    const Edge* const edges = tree_.edges_of(root());
    const std::size_t n = root().edges;
    std::size_t best = 0;
    // 1. A proven result decides.
    if (root().proof.known()) {
        for (std::size_t i = 1; i < n; ++i)
            if (edges[i].proof.known() && (!edges[best].proof.known() || edges[i].proof.better_than(edges[best].proof)))
                best = i;
        return best;
    }
    // 2. Otherwise the most visited that is not lost; Gumbel breaks ties by its own score, PUCT by value, then prior.
    if (config_.gumbel) completed_values(scratch_);
    const auto score = [&](std::size_t i) -> double {
        if (config_.gumbel) return gumbel_[i] + logit_[i] + scratch_[i];
        return edges[i].visits ? static_cast<double>(edges[i].value) : -2 + static_cast<double>(edges[i].prior);
    };
    const auto better = [&](std::size_t a, std::size_t b) {
        if (edges[a].proof.is_loss() != edges[b].proof.is_loss()) return edges[b].proof.is_loss();
        if (edges[a].visits != edges[b].visits) return edges[a].visits > edges[b].visits;
        return score(a) > score(b);
    };
    for (std::size_t i = 1; i < n; ++i)
        if (better(i, best)) best = i;
    return best;
}

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

std::vector<MoveStats> Search::moves() const {
    const Edge* const edges = tree_.edges_of(root());
    const std::size_t n = root().edges;
    std::vector<double> weights(n, 0);
    const std::size_t chosen = n ? best() : 0;
    if (root().proof.known()) {
        if (n) weights[chosen] = 1;
    } else if (config_.gumbel) {
        // The improved policy: softmax of logits and completed values, without what is lost.
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
        if (edges[a].proof.known() && edges[b].proof.known() && !(edges[a].proof == edges[b].proof))
            return edges[a].proof.better_than(edges[b].proof);
        if (edges[a].proof.is_loss() != edges[b].proof.is_loss()) return edges[b].proof.is_loss();
        if (edges[a].visits != edges[b].visits) return edges[a].visits > edges[b].visits;
        return edges[a].prior > edges[b].prior;
    });
    std::vector<MoveStats> stats;
    for (const std::size_t i : order)
        stats.push_back({edges[i].move, edges[i].visits,
                         edges[i].proof.known() ? edges[i].proof.value() : edges[i].value, edges[i].draw,
                         edges[i].prior, static_cast<float>(weights[i]), edges[i].proof});
    return stats;
}

std::vector<Move> Search::principal_variation(std::size_t root_edge) const {
    std::vector<Move> line;
    const Edge* edge = tree_.edges_of(root()) + root_edge;
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

std::span<const Edge> Search::leaf_edges(std::uint32_t id) const {
    const Node& node = tree_.nodes[leaves_[id].node];
    return {tree_.edges_of(node), node.edges};
}

void Search::answer(std::uint32_t id, NativeEvaluator evaluator) {
    Move moves[MAX_MOVES];
    float priors[MAX_MOVES], wdl[3];
    const std::span<const Edge> edges = leaf_edges(id);
    for (std::size_t i = 0; i < edges.size(); ++i) moves[i] = edges[i].move;
    const Leaf& leaf = leaves_[id];
    evaluator(*variant_, leaf.state, leaf.key, {moves, edges.size()}, priors, wdl);
    apply(id, {priors, edges.size()}, wdl);
}

void Search::run(NativeEvaluator evaluator, std::uint32_t more_visits) {
    const std::uint32_t before = done_visits_;
    while (!done() && wants_playout() && done_visits_ - before < more_visits)
        if (playout() == Playout::LEAF) answer(last_leaf_, evaluator);
}

}  // namespace selfmate
