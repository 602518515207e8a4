#include "search.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "encode.h"
#include "ends.h"

namespace selfmate {
namespace {

Node new_node(std::size_t first_edge, std::size_t edges, Proof proof) {
    Node node;
    node.first_edge = static_cast<std::uint32_t>(first_edge);
    node.edges = static_cast<std::uint16_t>(edges);
    node.proof = proof;
    if (proof.known()) node.net_value = proof.value();
    return node;
}

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
                   std::uint32_t visits, std::uint64_t seed, std::span<const Move> moves) {
    variant_ = &variant;
    config_ = config;
    root_state_ = root;
    budget_ = visits;
    seed_ = seed;
    tree_.clear();
    trail_.line.assign(history.begin(), history.end());
    root_at_ = trail_.line.size();
    trail_.line.push_back(root.key);
    only_.assign(moves.begin(), moves.end());
    considered_.clear();
    deviation_.clear();
    leaves_.clear();
    free_leaves_.clear();
    done_visits_ = waiting_ = collisions_ = max_depth_ = 0;
    depth_sum_ = 0;
}

bool Search::done() const {
    if (tree_.nodes.empty() || root().waiting) return false;
    if (waiting_) return false;
    if (!root().edges || done_visits_ >= budget_) return true;
    const Proof proven = proof();
    return proven.known() && (config_.stop_when_proven || !proven.is_win() || proven.plies() <= 1);
}

bool Search::wants_playout() const {
    if (tree_.nodes.empty()) return true;
    if (root().waiting || !root().edges) return false;
    const Proof proven = proof();
    if (proven.known() && (config_.stop_when_proven || !proven.is_win() || proven.plies() <= 1)) return false;
    return done_visits_ + waiting_ < budget_;
}

// ---- one playout, from the root to a leaf ------------------------------------------------------

Playout Search::playout() {
    if (full()) {
        if (waiting_) return Playout::BLOCKED;
        prune();
    }
    if (const Playout end = walk(trail_); end != Playout::LEAF) return end;
    if (follow(trail_)) {
        draw(trail_);
        return Playout::BACKED_UP;
    }
    MoveList moves;
    variant_->legal_moves(trail_.state, moves);
    const std::size_t first = tree_.edges.size();
    Edge* const edges = tree_.edges.add(moves.size());
    const Proof proof = examine(trail_.state, moves, [&](std::size_t i, Proof result) {
        edges[i] = Edge{.prior = 0, .move = moves[i], .proof = result};
    });
    const std::uint32_t at = static_cast<std::uint32_t>(tree_.nodes.size());
    *tree_.nodes.add(1) = new_node(first, moves.size(), proof);
    if (settle(trail_, at)) return Playout::BACKED_UP;
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
    leaf.state = trail_.state;
    leaf.repeated = trail_.repeated;
    leaf.key = encoded_key(leaf.state, leaf.repeated);
    leaf.node = at;
    leaf.path.assign(trail_.path.begin(), trail_.path.end());
    return Playout::LEAF;
}

// 1. Select edge after edge, to one that leads out of the tree.
Playout Search::walk(Trail& trail) {
    trail.path.clear();
    trail.moves.clear();
    if (tree_.nodes.empty()) return Playout::LEAF;  // the root itself
    Color mover = root_state_.turn;
    for (std::uint32_t at = 0;; mover = ~mover) {
        // A position that waits for its evaluation ends the walk.
        if (at == BUSY || tree_.nodes[at].waiting) {
            release(trail.path);
            ++collisions_;
            return Playout::BLOCKED;
        }
        const std::uint32_t index = at == 0 ? select_root() : select(tree_.nodes[at], nullptr);
        Node& node = tree_.nodes[at];
        Edge& edge = tree_.edges[node.first_edge + index];
        trail.path.push_back(at);
        trail.path.push_back(node.first_edge + index);
        trail.moves.push_back(edge.move);
        ++node.in_flight;
        if (!edge.visits && !edge.in_flight) node.visited_prior += edge.prior;
        ++edge.in_flight;
        // What is known to be decided is not searched again.
        if (edge.proof.known()) {
            back_up(trail.path, -worth(edge.proof, mover), edge.proof.is_draw() ? 1.0f : 0.0f);
            return Playout::BACKED_UP;
        }
        if (edge.child == NO_NODE) {
            edge.child = BUSY;
            return Playout::LEAF;
        }
        at = edge.child;
    }
}

// 2. Play the moves. Says whether the new position is a draw by the rules of counting (mate was seen before).
bool Search::follow(Trail& trail) const {
    trail.line.resize(root_at_ + 1);
    trail.state = root_state_;
    for (std::size_t i = 0; i < trail.moves.size(); ++i) {
        if (i) trail.line.push_back(trail.state.key);
        variant_->play(trail.state, trail.moves[i]);
    }
    const bool repetition = is_repetition(trail, trail.repeated);
    if (trail.moves.empty()) return false;
    return repetition || trail.state.halfmove_clock >= 100 ||
           (variant_->cannot_win(trail.state, WHITE) && variant_->cannot_win(trail.state, BLACK));
}

// 3. Results that are one move away are seen at once: each is handed to `write`, and what follows is returned.
template <class Write>
Proof Search::examine(const State& state, const MoveList& moves, Write write) const {
    if (!moves.size()) {  // only stalemate comes here, and what a variant makes of it
        const Outcome outcome = variant_->has_ended(state)
                                    ? variant_->ending(state)
                                    : variant_->without_moves(state, variant_->checkers(state, state.turn));
        return outcome.winner == Winner::NOBODY       ? Proof::draw()
               : outcome.winner == winner(state.turn) ? Proof::win(0)
                                                      : Proof::loss(0);
    }
    Proof best;
    bool all_known = true;
    const MayEnd may_end(*variant_, state);
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const Proof result = may_end(moves[i]) ? result_of(state, moves[i]) : Proof();
        write(i, result);
        if (!result.known())
            all_known = false;
        else if (!best.known() || result.better_than(best))
            best = result;
    }
    return best.is_win() || all_known ? best : Proof();
}

void Search::draw(const Trail& trail) {
    Edge& edge = tree_.edges[trail.path.back()];
    edge.child = NO_NODE;
    edge.proof = Proof::draw();
    back_up(trail.path, worth(Proof::draw(), trail.state.turn), 1);
    prove(trail.path);
}

// 4. The new position, already a node, becomes a part of the tree. Says whether it is decided; then it is backed up.
bool Search::settle(const Trail& trail, std::uint32_t at) {
    const Proof proof = tree_.nodes[at].proof;
    const std::uint32_t depth = static_cast<std::uint32_t>(trail.path.size() / 2);
    depth_sum_ += depth;
    max_depth_ = std::max(max_depth_, depth);
    if (trail.path.empty()) {
        consider_moves();
        if (proof.known()) prepare_root();
        return proof.known();
    }
    tree_.edges[trail.path.back()].child = at;
    if (!proof.known()) return false;
    tree_.edges[trail.path.back()].proof = proof.for_mover();
    back_up(trail.path, worth(proof, trail.state.turn), proof.is_draw() ? 1.0f : 0.0f);
    prove(trail.path);
    return true;
}

void Search::apply(std::uint32_t id, std::span<const float> priors, const float* wdl) {
    const Leaf& leaf = leaves_[id];
    --waiting_;
    accept(leaf.node, leaf.path, leaf.state.turn, priors, wdl);
    free_leaves_.push_back(id);
}

// 6. The evaluator's answer: priors for the edges, a value to back up.
void Search::accept(std::uint32_t at, std::span<const std::uint32_t> path, Color turn, std::span<const float> priors,
                    const float* wdl) {
    Node& node = tree_.nodes[at];
    Edge* const edges = tree_.edges_of(node);
    for (std::size_t i = 0; i < node.edges; ++i) edges[i].prior = i < priors.size() ? priors[i] : 0.0f;
    node.waiting = false;
    const float value = value_of(wdl, turn);
    node.net_value = value;
    if (path.empty()) {
        node.value = value;
        node.visits = 1;
        prepare_root();
    } else {
        back_up(path, value, wdl[1]);
    }
}

void Search::abandon(std::uint32_t id) {
    const Leaf& leaf = leaves_[id];
    --waiting_;
    free_leaves_.push_back(id);
    if (leaf.path.empty()) {
        tree_.clear();
    } else {
        tree_.edges[leaf.path.back()].child = NO_NODE;  // its node is out of reach until the next `keep`
        release(leaf.path);
    }
}

float Search::value_of(const float* wdl, Color side) const {
    return std::clamp(wdl[0] - wdl[2] + wdl[1] * worth(Proof::draw(), side), -1.0f, 1.0f);
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
        const float before = edge.value;
        add(edge.value, value, edge.visits);
        add(edge.draw, draw, edge.visits);
        add(node.value, value, node.visits);
        if (i == 2 && !deviation_.empty()) {
            const std::size_t index = path[1] - root().first_edge;
            deviation_[index] += static_cast<double>(value - before) * static_cast<double>(value - edge.value);
            ++deviations_[index];
        }
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

std::uint32_t Search::select(const Node& node, const std::uint8_t* considered) const {
    const Edge* const edges = tree_.edges_of(node);
    const float explore = config_.cpuct * std::sqrt(static_cast<float>(std::max(1u, node.visits + node.in_flight)));
    const float untried = node.value - config_.fpu_reduction * std::sqrt(std::max(0.0f, node.visited_prior));
    const float loss = static_cast<float>(config_.virtual_loss);
    float best_score = -1e30f;
    std::uint32_t best = 0;
    while (considered && !considered[best]) ++best;
    for (std::uint32_t i = 0; i < node.edges; ++i) {
        const Edge& edge = edges[i];
        if (considered && !considered[i]) continue;
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

std::uint32_t Search::select_root() const {
    if (config_.gumbel) return select_gumbel();
    return select(root(), considered_.empty() ? nullptr : considered_.data());
}

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
            if (!is_considered(0, i)) continue;
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
            if (!edges[i].proof.is_loss() && !edges[i].proof.is_win() && is_considered(0, i))
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
bool Search::is_repetition(const Trail& trail, bool& repeated) const {
    int before_root = 0;
    repeated = false;
    const std::size_t here = trail.moves.empty() ? root_at_ : trail.line.size();
    const std::size_t reach = std::min<std::size_t>(trail.state.halfmove_clock, here);
    for (std::size_t back = 4; back <= reach; back += 2) {
        if (trail.line[here - back] != trail.state.key) continue;
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
    if (config_.lcb) {
        deviation_.assign(n, 0);
        deviations_.assign(n, 0);
    }
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

// Which edges of the root are to be considered.
void Search::consider_moves() {
    considered_.clear();
    if (only_.empty()) return;
    for (std::size_t i = 0; i < root().edges; ++i)
        considered_.push_back(std::find(only_.begin(), only_.end(), root_move(i)) != only_.end());
}

Proof Search::proof(std::uint32_t at) const {
    const Node& node = tree_.nodes[at];
    if (at || considered_.empty()) return node.proof;
    Proof best;
    bool all_known = true;
    for (std::size_t i = 0; i < node.edges; ++i) {
        const Proof proof = tree_.edges_of(node)[i].proof;
        if (!considered_[i]) continue;
        if (!proof.known())
            all_known = false;
        else if (!best.known() || proof.better_than(best))
            best = proof;
    }
    return best.is_win() || all_known ? best : Proof();
}

// What the value of a root edge surely is: KataGo's five standard errors below its mean. A first deviation of 1, the
// largest there can be, stands for what has not been seen.
double Search::lower_bound(std::size_t i) const {
    constexpr double ERRORS = 5;
    const Edge& edge = tree_.edges_of(root())[i];
    const double variance = (deviation_[i] + 1) / (deviations_[i] + 1.0);
    return static_cast<double>(edge.value) - ERRORS * std::sqrt(variance / edge.visits);
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
    // 2. Otherwise the most visited that is not lost; Gumbel breaks ties by its own score, PUCT by value, then prior.
    const bool gumbel = config_.gumbel && !at;
    if (gumbel) completed_values(scratch_);
    const auto score = [&](std::size_t i) -> double {
        if (gumbel) return gumbel_[i] + logit_[i] + scratch_[i];
        return edges[i].visits ? static_cast<double>(edges[i].value) : -2 + static_cast<double>(edges[i].prior);
    };
    const auto better = [&](std::size_t a, std::size_t b) {
        if (edges[a].proof.is_loss() != edges[b].proof.is_loss()) return edges[b].proof.is_loss();
        if (edges[a].visits != edges[b].visits) return edges[a].visits > edges[b].visits;
        return score(a) > score(b);
    };
    for (std::size_t i = best + 1; i < n; ++i)
        if (is_considered(at, i) && better(i, best)) best = i;
    // 3. Or one whose value is surely higher, if it has a fair share of the visits (KataGo: 0.15).
    if (!at && deviation_.size() == n && edges[best].visits) {
        constexpr double SHARE = 0.15;
        const double enough = SHARE * edges[best].visits;
        for (std::size_t i = 0; i < n; ++i)
            if (is_considered(at, i) && !edges[i].proof.known() && edges[i].visits >= enough &&
                lower_bound(i) > lower_bound(best))
                best = i;
    }
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

std::vector<MoveStats> Search::moves(std::uint32_t at) const {
    const Node& node = tree_.nodes[at];
    const Edge* const edges = tree_.edges_of(node);
    const std::size_t n = node.edges;
    std::vector<double> weights(n, 0);
    const std::size_t chosen = n ? best(at) : 0;
    if (proof(at).known()) {
        if (n) weights[chosen] = 1;
    } else if (config_.gumbel && !at) {
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
        stats.push_back({edge.move, edge.visits, edge.proof.known() ? edge.proof.value() : edge.value, edge.draw,
                         edge.prior, static_cast<float>(weights[i]), edge.proof, std::nullopt});
        if (edge.child != NO_NODE && !tree_.nodes[edge.child].waiting)
            stats.back().net_value = -tree_.nodes[edge.child].net_value;
    }
    return stats;
}

std::vector<Move> Search::principal_variation(std::size_t first, std::uint32_t at) const {
    std::vector<Move> line;
    const Edge* edge = tree_.edges_of(tree_.nodes[at]) + first;
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

void Search::run_for(double seconds, NativeEvaluator evaluator, std::uint32_t more_visits, Threads& threads) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const std::uint32_t before = done_visits_;
    while (Clock::now() < end && !full() && wants_playout() && done_visits_ - before < more_visits) {
        if (threads.size() > 1 && !tree_.nodes.empty())
            share_for(end, evaluator, more_visits - (done_visits_ - before), threads);
        else if (playout() == Playout::LEAF)
            answer(last_leaf_, evaluator);
    }
}

// Leaves that one of several threads takes from the tree at a time: at most so many, and one for each so many visits.
constexpr std::size_t MOST_LEAVES = 16, VISITS_PER_LEAF = 256;

// The tree is locked while walks go down and while values come up; the rules, the evaluator and the writing of new nodes
// run beside each other. Several leaves at a time, once the tree is large: what one thread has changed must come from its
// core to the next. Nothing that others read may move, so it ends when the room that was made for new nodes is used up.
void Search::share_for(std::chrono::steady_clock::time_point end, NativeEvaluator evaluator, std::uint32_t more_visits,
                       Threads& threads) {
    struct Work {
        Trail trail;
        bool drawn;
        MoveList moves;
        Proof proof, results[MAX_MOVES];
        float priors[MAX_MOVES], wdl[3];
        std::uint32_t at;
    };
    // 1. Room for twice what all threads may add between two looks.
    const std::size_t most = MOST_LEAVES * static_cast<std::size_t>(threads.size());
    tree_.nodes.reserve(2 * most);
    tree_.edges.reserve(2 * most * MAX_MOVES);
    // 2. One number says how many nodes (its high half) and edges there are: edges lie in the order of their nodes.
    const std::size_t nodes = tree_.nodes.size(), edges = tree_.edges.size();
    const std::uint32_t before = done_visits_;
    alignas(64) std::atomic<std::uint64_t> used = std::uint64_t(nodes) << 32 | edges;
    alignas(64) SpinLock turn;
    const auto goes_on = [&] {
        const std::size_t n = used >> 32, e = used & 0xffffffff;
        return n + most <= tree_.nodes.capacity() && e + most * MAX_MOVES <= tree_.edges.capacity() &&
               n * sizeof(Node) + e * sizeof(Edge) <= config_.max_bytes && wants_playout() &&
               done_visits_ + waiting_ - before < more_visits && std::chrono::steady_clock::now() < end;
    };
    threads.each(static_cast<std::size_t>(threads.size()), [&](std::size_t) {
        std::vector<Work> works(MOST_LEAVES);
        for (Work& work : works) work.trail.line = trail_.line;
        std::unique_lock lock(turn);
        while (goes_on()) {
            // 3. Walks, with the lock.
            const std::size_t room = std::clamp<std::size_t>(done_visits_ / VISITS_PER_LEAF, 1, works.size());
            std::size_t leaves = 0;
            Playout walked = Playout::LEAF;
            while (leaves < room && walked != Playout::BLOCKED && wants_playout() &&
                   done_visits_ + waiting_ - before < more_visits)
                if ((walked = walk(works[leaves].trail)) == Playout::LEAF) {
                    ++leaves;
                    ++waiting_;
                }
            lock.unlock();
            // 4. What is at their ends.
            std::uint64_t size = 0;
            for (std::size_t i = 0; i < leaves; ++i) {
                Work& work = works[i];
                const State& state = work.trail.state;
                work.drawn = follow(work.trail);
                if (work.drawn) continue;
                work.moves.clear();
                variant_->legal_moves(state, work.moves);
                work.proof = examine(state, work.moves, [&](std::size_t j, Proof result) { work.results[j] = result; });
                if (!work.proof.known())
                    evaluator(*variant_, state, encoded_key(state, work.trail.repeated),
                              {work.moves.begin(), work.moves.end()}, work.priors, work.wdl);
                size += std::uint64_t(1) << 32 | work.moves.size();
            }
            // 5. New nodes, which nobody can find yet.
            std::uint64_t place = used.fetch_add(size);
            for (std::size_t i = 0; i < leaves; ++i) {
                Work& work = works[i];
                if (work.drawn) continue;
                work.at = static_cast<std::uint32_t>(place >> 32);
                const std::uint32_t first = static_cast<std::uint32_t>(place);
                const bool known = work.proof.known();
                Node& node = tree_.nodes[work.at] = new_node(first, work.moves.size(), work.proof);
                if (!known) node.net_value = value_of(work.wdl, work.trail.state.turn);
                for (std::size_t j = 0; j < work.moves.size(); ++j)
                    new (&tree_.edges[first + j])
                        Edge{.prior = known ? 0 : work.priors[j], .move = work.moves[j], .proof = work.results[j]};
                place += std::uint64_t(1) << 32 | work.moves.size();
            }
            if (!leaves && walked == Playout::BLOCKED) std::this_thread::yield();
            // 6. The way back, with the lock.
            lock.lock();
            waiting_ -= static_cast<std::uint32_t>(leaves);
            for (std::size_t i = 0; i < leaves; ++i) {
                const Work& work = works[i];
                if (work.drawn)
                    draw(work.trail);
                else if (!settle(work.trail, work.at))
                    back_up(work.trail.path, tree_.nodes[work.at].net_value, work.wdl[1]);
            }
        }
    });
    tree_.nodes.add((used >> 32) - nodes);
    tree_.edges.add((used & 0xffffffff) - edges);
}

// ---- from one search to the next ---------------------------------------------------------------

bool Search::move_to(const Variant& variant, const State& root, std::span<const Key> history,
                     const SearchConfig& config, std::uint32_t visits, std::uint64_t seed,
                     std::span<const Move> moves) {
    std::uint32_t at = NO_NODE;
    if (variant_ == &variant && !waiting_ && !config.gumbel && !config_.gumbel && !tree_.nodes.empty()) {
        // The worth of draws is in every value: it must be the same for the same side.
        const float worth = root.turn == root_state_.turn ? config_.draw_score : -config_.draw_score;
        if (worth == config.draw_score) at = find(root);
        // Visits that only some moves could get would speak for those.
        if (at == 0 && !only_.empty() && !std::equal(only_.begin(), only_.end(), moves.begin(), moves.end()))
            at = NO_NODE;
    }
    // A node that was decided as soon as it was seen has no priors; a draw of that kind will be forgotten below.
    if (at == NO_NODE || !tree_.nodes[at].edges || tree_.nodes[at].proof.is_draw()) {
        begin(variant, root, history, config, visits, seed, moves);
        return false;
    }
    const bool same_line =
        at == 0 && root_at_ == history.size() && std::equal(history.begin(), history.end(), trail_.line.begin());
    Tree tree = std::move(tree_);
    if (at) tree.keep(at, 0);
    begin(variant, root, history, config, visits, seed, moves);
    tree_ = std::move(tree);
    if (!same_line) forget_draws();
    consider_moves();
    if (config_.lcb) {
        deviation_.assign(this->root().edges, 0);
        deviations_.assign(this->root().edges, 0);
    }
    return true;
}

std::uint32_t Search::node_behind(Move move) const {
    for (std::size_t i = 0; i < root().edges; ++i)
        if (const Edge& edge = tree_.edges_of(root())[i]; edge.move == move) return edge.child;
    return NO_NODE;
}

// The node of a state, at most two plies below the root.
std::uint32_t Search::find(const State& state) const {
    const auto same = [&](const State& other) {
        return other.key == state.key && other.halfmove_clock == state.halfmove_clock &&
               std::equal(other.colors, other.colors + 2, state.colors) &&
               std::equal(other.roles, other.roles + 6, state.roles);
    };
    if (same(root_state_)) return 0;
    const auto below = [&](const auto& again, std::uint32_t at, const State& before, int plies) -> std::uint32_t {
        for (std::size_t i = 0; i < tree_.nodes[at].edges; ++i) {
            const Edge& edge = tree_.edges_of(tree_.nodes[at])[i];
            if (edge.child == NO_NODE) continue;
            State next = before;
            variant_->play(next, edge.move);
            if (same(next)) return edge.child;
            if (plies > 1)
                if (const std::uint32_t found = again(again, edge.child, next, plies - 1); found != NO_NODE)
                    return found;
        }
        return NO_NODE;
    };
    return below(below, 0, root_state_, 2);
}

// A draw may rest on a repetition, and what counts as one depends on where the root is. Only draws rest on draws: a
// win needs one winning move, a loss needs all moves lost. Those that still hold are seen again when a playout comes by.
void Search::forget_draws() {
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
        Node& node = tree_.nodes[i];
        if (!node.edges) continue;  // stalemate stays
        if (node.proof.is_draw()) node.proof = Proof();
        Edge* const edges = tree_.edges_of(node);
        for (std::size_t j = 0; j < node.edges; ++j)
            if (edges[j].proof.is_draw() && (edges[j].child == NO_NODE || tree_.nodes[edges[j].child].edges))
                edges[j].proof = Proof();
    }
}

void Search::prune() {
    // Of what has fewest visits, enough to come down to half: single numbers of visits, then powers of two.
    constexpr std::uint32_t SINGLE = 64;
    std::array<std::size_t, SINGLE + 26> bytes{};
    const auto bucket = [](std::uint32_t visits) {
        return visits < SINGLE ? visits : SINGLE + static_cast<std::uint32_t>(std::bit_width(visits)) - 7;
    };
    for (const Node& node : tree_.nodes) bytes[bucket(node.visits)] += sizeof(Node) + node.edges * sizeof(Edge);
    std::size_t kept = 0;
    std::uint32_t least = static_cast<std::uint32_t>(bytes.size());
    while (least > 1 && kept + bytes[least - 1] <= config_.max_bytes / 2) kept += bytes[--least];
    tree_.keep(0, least < SINGLE ? least : SINGLE << std::min(25u, least - SINGLE));
}

}  // namespace selfmate
