#include "search/search.h"

#include <algorithm>
#include <cmath>

#include "board/terminal_moves.h"
#include "data/encode.h"

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

Proof Search::examine(const State& state, const MoveList& moves, Proof* results) const {
    return examine(state, moves, [&](std::size_t i, Proof result) { results[i] = result; });
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
