// One playout, in numbered steps: select, make moves, find terminal moves, expand, evaluate, back up, prove.
#include "search/search.h"

#include <algorithm>

#include "board/terminal_moves.h"
#include "data/encoders.h"
#include "util/error.h"

namespace selfmate {

void Search::begin(const SearchTask& task) {
    variant_ = &task.variant;
    config_ = task.config;
    has_plain_selection_ = config_.select == Select::PUCT && !config_.limits_moves();
    changes_priors_ = config_.limits_moves() || (config_.noise_depth > 0 && config_.noise_epsilon > 0);
    encoding_ = task.encoding ? *task.encoding : encoding_of(task.variant);
    const std::size_t seen = std::min<std::size_t>(task.past.size(), static_cast<std::size_t>(encoding_.history - 1));
    past_.assign(task.past.end() - static_cast<std::ptrdiff_t>(seen), task.past.end());
    root_state_ = task.root;
    visit_budget_ = task.visits;
    seed_ = task.seed;
    tree_.clear();
    selected_.keys.assign(task.history.begin(), task.history.end());
    root_key_ = selected_.keys.size();
    selected_.keys.push_back(task.root.key);
    searchmoves_.assign(task.searchmoves.begin(), task.searchmoves.end());
    considered_.clear();
    penalties_.clear();
    forced_line_.clear();
    squared_deviations_.clear();
    leaves_.clear();
    free_leaves_.clear();
    visits_ = leaves_in_flight_ = collisions_ = max_depth_ = 0;
    depth_sum_ = 0;
}

// Whether a proof at the root ends the search.
bool Search::is_decided() const {
    const Proof proven = proof();
    return proven.known() && (config_.stop_when_proven || !proven.is_win() || proven.plies() <= 1);
}

bool Search::done() const {
    if (tree_.nodes.empty() || root().unevaluated || leaves_in_flight_) return false;
    return !root().edges || visits_ >= visit_budget_ || ends_early();
}

bool Search::wants_playout() const {
    if (tree_.nodes.empty()) return true;
    if (root().unevaluated || !root().edges || ends_early()) return false;
    return visits_ + leaves_in_flight_ < visit_budget_;
}

// ---- one playout, from the root to a leaf ------------------------------------------------------

Playout Search::playout() {
    if (full()) {
        if (leaves_in_flight_) return Playout::BLOCKED;
        prune();
    }
    if (const Playout end = select_leaf(selected_); end != Playout::LEAF) return end;
    if (make_moves(selected_)) {
        back_up_draw(selected_);
        return Playout::BACKED_UP;
    }
    MoveList moves;
    variant_->legal_moves(selected_.state, moves);
    const std::size_t first_edge = tree_.edges.size();
    tree_.edges.add(moves.size());
    const std::uint32_t at = static_cast<std::uint32_t>(tree_.nodes.size());
    tree_.nodes.add(1);
    write_node(at, first_edge, selected_.state, moves);
    if (expand(selected_, at)) return Playout::BACKED_UP;
    // 5. Store the leaf for its evaluation.
    tree_.nodes[at].unevaluated = true;
    ++leaves_in_flight_;
    if (free_leaves_.empty()) {
        free_leaves_.push_back(static_cast<std::uint32_t>(leaves_.size()));
        leaves_.emplace_back();
    }
    last_leaf_ = free_leaves_.back();
    free_leaves_.pop_back();
    Leaf& leaf = leaves_[last_leaf_];
    leaf.state = selected_.state;
    leaf.repeated = selected_.repeated;
    const std::size_t seen =
        std::min(selected_.past.size(), static_cast<std::size_t>(encoding_.history - 1));  // 0 by default
    leaf.past.assign(selected_.past.end() - static_cast<std::ptrdiff_t>(seen), selected_.past.end());
    leaf.key = encoded_key(encoding_, leaf.state, leaf.repeated, leaf.past);
    leaf.node = at;
    leaf.path.assign(selected_.indices.begin(), selected_.indices.end());
    return Playout::LEAF;
}

// 1. Select an edge at every node down to an edge without child. Counts the playout as in flight on the path.
Playout Search::select_leaf(SelectedPath& selected) {
    selected.indices.clear();
    selected.moves.clear();
    if (tree_.nodes.empty()) return Playout::LEAF;  // the root itself
    Color mover = root_state_.turn;
    for (std::uint32_t at = 0;; mover = ~mover) {
        // A collision: the position is a leaf in flight.
        if (at == EXPANDING || tree_.nodes[at].unevaluated) {
            cancel(selected.indices);
            ++collisions_;
            return Playout::BLOCKED;
        }
        // The end of a game, without the solver; with it, the edge to this node is proven.
        if (!tree_.nodes[at].edges) {
            const Proof result = tree_.nodes[at].proof;
            back_up(selected.indices, value_of(result, mover), result.is_draw() ? 1.0f : 0.0f);
            return Playout::BACKED_UP;
        }
        const std::uint32_t index = at == 0                ? select_root()
                                    : has_plain_selection_ ? select_puct<false, false>(tree_.nodes[at])
                                                           : select_by_rule<false>(at);
        Node& node = tree_.nodes[at];
        Edge& edge = tree_.edges[node.first_edge + index];
        selected.indices.push_back(at);
        selected.indices.push_back(node.first_edge + index);
        selected.moves.push_back(edge.move);
        ++node.in_flight;
        if (!edge.visits && !edge.in_flight) node.visited_prior += edge.prior;
        ++edge.in_flight;
        // A proven edge is not searched further.
        if (edge.proof.known()) {
            back_up(selected.indices, -value_of(edge.proof, mover), edge.proof.is_draw() ? 1.0f : 0.0f);
            return Playout::BACKED_UP;
        }
        if (edge.child == NO_NODE) {
            edge.child = EXPANDING;
            return Playout::LEAF;
        }
        at = edge.child;
    }
}

// 2. Make the moves. Returns whether the new position is a draw by repetition, the fifty-move rule or insufficient
// material. Checkmate takes precedence: step 3 has found it at the parent, or without the solver finds it here.
bool Search::make_moves(SelectedPath& selected) const {
    selected.keys.resize(root_key_ + 1);
    selected.state = root_state_;
    selected.past.assign(past_.begin(), past_.end());
    for (std::size_t i = 0; i < selected.moves.size(); ++i) {
        if (i) selected.keys.push_back(selected.state.key);
        if (encoding_.history > 1) selected.past.push_back(selected.state);
        variant_->play(selected.state, selected.moves[i]);
    }
    const bool repetition = is_repetition(selected, selected.repeated);
    if (selected.moves.empty()) return false;
    if (repetition) return true;
    const bool drawn = selected.state.halfmove_clock >= 100 ||
                       (variant_->cannot_win(selected.state, WHITE) && variant_->cannot_win(selected.state, BLACK));
    return drawn && (config_.solver || !is_over(selected.state));
}

// Whether a position has no legal moves, or its variant's own end.
bool Search::is_over(const State& state) const { return variant_->has_ended(state) || !variant_->count_moves(state); }

// A position that occurred at the root or below it is a draw; one from before the root is a draw the third time.
bool Search::is_repetition(const SelectedPath& selected, bool& repeated) const {
    int before_root = 0;
    repeated = false;
    const std::size_t here = selected.moves.empty() ? root_key_ : selected.keys.size();
    const std::size_t reach = std::min<std::size_t>(selected.state.halfmove_clock, here);
    for (std::size_t back = 4; back <= reach; back += 2) {
        if (selected.keys[here - back] != selected.state.key) continue;
        repeated = true;
        if (here - back >= root_key_) return true;
        if (++before_root == 2) return true;
    }
    return false;
}

void Search::back_up_draw(const SelectedPath& selected) {
    Edge& edge = tree_.edges[selected.indices.back()];
    edge.child = NO_NODE;
    edge.proof = Proof::draw();
    back_up(selected.indices, value_of(Proof::draw(), selected.state.turn), 1);
    if (config_.solver) propagate_proof(selected.indices);
}

// 3. Write a node and its edges without priors, and find its terminal moves: moves that end the game have their proof
// before they are searched. `at` and `first_edge` are reserved for this node, which is not linked yet, so that several
// threads may write at the same time.
void Search::write_node(std::uint32_t at, std::size_t first_edge, const State& state, const MoveList& moves) {
    if (!moves.size()) {
        tree_.nodes[at] = new_node(first_edge, 0, result_without_moves(state));
        return;
    }
    Edge* const edges = tree_.edges.data() + first_edge;
    if (!config_.solver) {
        for (std::size_t i = 0; i < moves.size(); ++i) edges[i] = Edge{.prior = 0, .move = moves[i], .proof = Proof()};
        tree_.nodes[at] = new_node(first_edge, moves.size(), Proof());
        return;
    }
    MinimaxProof proof;
    const TerminalMoveFilter may_end(*variant_, state);
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const Proof result = may_end(moves[i]) ? result_of_move(state, moves[i]) : Proof();
        edges[i] = Edge{.prior = 0, .move = moves[i], .proof = result};
        proof.add(result);
    }
    tree_.nodes[at] = new_node(first_edge, moves.size(), proof.result());
}

// The result of a position without legal moves. With the solver only stalemate reaches this, because checkmate is found
// at the parent; some variants make it a win or a loss.
Proof Search::result_without_moves(const State& state) const {
    const Outcome outcome = variant_->has_ended(state)
                                ? variant_->ending(state)
                                : variant_->without_moves(state, variant_->checkers(state, state.turn));
    return outcome.winner == Winner::NONE         ? Proof::draw()
           : outcome.winner == winner(state.turn) ? Proof::win(0)
                                                  : Proof::loss(0);
}

// The result of a move if it ends the game, for the side that moves. Stalemate is found when the position is expanded.
Proof Search::result_of_move(const State& state, Move move) const {
    State next = state;
    variant_->play(next, move);
    Outcome outcome;
    if (variant_->has_ended(next)) {
        outcome = variant_->ending(next);
    } else {
        const bool in_check = variant_->checkers(next, next.turn);
        if (!in_check && next.of(next.turn)) return {};
        if (variant_->count_moves(next)) return {};
        outcome = variant_->without_moves(next, in_check);
    }
    if (outcome.winner == Winner::NONE) return Proof::draw();
    return outcome.winner == winner(state.turn) ? Proof::win(1) : Proof::loss(1);
}

// 4. Expand: link the written node to its parent's edge. Returns whether it is decided; then it is backed up here and
// needs no evaluation.
bool Search::expand(const SelectedPath& selected, std::uint32_t at) {
    const Proof proof = tree_.nodes[at].proof;
    const std::uint32_t depth = static_cast<std::uint32_t>(selected.indices.size() / 2);
    depth_sum_ += depth;
    max_depth_ = std::max(max_depth_, depth);
    if (selected.indices.empty()) {
        filter_root_moves();
        if (proof.known())
            prepare_root();
        else
            seek_forced_win();
        return proof.known();
    }
    Edge& edge = tree_.edges[selected.indices.back()];
    edge.child = at;
    if (!proof.known()) return false;
    if (config_.solver) edge.proof = proof.for_mover();
    back_up(selected.indices, value_of(proof, selected.state.turn), proof.is_draw() ? 1.0f : 0.0f);
    if (config_.solver) propagate_proof(selected.indices);
    return true;
}

// ---- evaluation and backup ---------------------------------------------------------------------

void EvaluationFault::raise() const {
    const std::string shown = std::to_string(row);
    throw Error("EvaluatorError", std::string("row ") + shown + " of an evaluation: " + what, shown);
}

const char* Search::evaluation_fault(std::uint32_t id, std::span<const float> priors, const float* wdl,
                                     const Encoding& encoding) const {
    constexpr float TOLERANCE = 0.05f;  // of a sum; bf16 and int8 round
    const auto are_probabilities = [](const float* numbers, std::size_t size) {
        float sum = 0;
        bool positive = true;
        for (std::size_t i = 0; i < size; ++i) {
            positive &= numbers[i] >= 0;  // false for NaN
            sum += numbers[i];
        }
        return positive && sum > 1 - TOLERANCE && sum < 1 + TOLERANCE;
    };
    const std::size_t count =
        std::min<std::size_t>(leaf_edges(id).size(), static_cast<std::size_t>(encoding.max_moves));
    if (priors.size() < count) return "fewer priors than legal moves";
    if (!are_probabilities(wdl, 3)) return "win, draw and loss are not probabilities of sum one";
    if (count && !are_probabilities(priors.data(), count))
        return "the priors of the legal moves are not probabilities of sum one";
    return nullptr;
}

void Search::apply(std::uint32_t id, std::span<const float> priors, const float* wdl) {
    const Leaf& leaf = leaves_[id];
    --leaves_in_flight_;
    const float value = set_evaluation(leaf.node, leaf.state, leaf.path.size() / 2, priors, wdl);
    if (leaf.path.empty()) {
        Node& node = tree_.nodes[leaf.node];
        node.value = value;
        node.visits = 1;
        prepare_root();
    } else {
        back_up(leaf.path, value, wdl[1]);
    }
    free_leaves_.push_back(id);
}

// 6. Write an evaluation to a node and its edges, `depth` plies below the root. Returns the value to back up, for the
// side to move.
float Search::set_evaluation(std::uint32_t at, const State& state, std::size_t depth, std::span<const float> priors,
                             const float* wdl) {
    Node& node = tree_.nodes[at];
    Edge* const edges = tree_.edges_of(node);
    for (std::size_t i = 0; i < node.edges; ++i) edges[i].prior = i < priors.size() ? priors[i] : 0.0f;
    node.unevaluated = node.by_rules = false;
    node.net_value = value_of(wdl, state.turn);
    if (changes_priors_ && depth) {  // the root has `prepare_root`
        if (depth <= static_cast<std::size_t>(config_.noise_depth) && config_.noise_epsilon > 0)
            mix_noise_below(at, state.key, depth);
        if (config_.limits_moves()) sort_edges(node);
    }
    return node.net_value;
}

void Search::abandon(std::uint32_t id) {
    const Leaf& leaf = leaves_[id];
    --leaves_in_flight_;
    free_leaves_.push_back(id);
    if (leaf.path.empty()) {
        tree_.clear();
    } else {
        tree_.edges[leaf.path.back()].child = NO_NODE;  // the node is unreachable until the next compaction removes it
        cancel(leaf.path);
    }
}

float Search::value_of(const float* wdl, Color side) const {
    return std::clamp(wdl[0] - wdl[2] + wdl[1] * value_of(Proof::draw(), side), -1.0f, 1.0f);
}

float Search::value_of(Proof proof, Color side) const {
    if (!proof.is_draw()) return proof.value();
    return side == root_state_.turn ? config_.draw_score : -config_.draw_score;
}

// 7. Back up: every edge and node on the path gets the value for its own side, and one playout in flight less.
void Search::back_up(Path path, float value, float draw) {
    const auto add = [](float& mean, float sample, std::uint32_t n) {
        mean += (sample - mean) / static_cast<float>(n);
    };
    // The leaf's own node, if it has one.
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
        if (i == 2 && !squared_deviations_.empty()) {
            const std::size_t index = path[1] - root().first_edge;
            squared_deviations_[index] += static_cast<double>(value - before) * static_cast<double>(value - edge.value);
            ++deviation_counts_[index];
        }
    }
    ++visits_;
    if (config_.mixes_values()) mix_values(path);
}

// With `minimax` or `proven_means`: sets the values of a path, from its end to the root, to what follows from those of
// their children. An edge has the value of its child, or of its proof; a proven edge without `proven_means`, and one
// whose child was pruned, keeps its running mean.
void Search::mix_values(Path path) {
    for (std::size_t i = path.size(); i >= 2; i -= 2) {
        Node& node = tree_.nodes[path[i - 2]];
        Edge& edge = tree_.edges[path[i - 1]];
        const Color mover = i % 4 ? root_state_.turn : ~root_state_.turn;  // the path has two numbers for each ply
        if (!edge.proof.known()) {
            if (edge.child != NO_NODE && tree_.nodes[edge.child].visits == edge.visits)
                edge.value = -tree_.nodes[edge.child].value;
        } else if (config_.proven_means) {
            edge.value = value_of(edge.proof, mover);
        }
        node.value = mixed_value(node, mover);
    }
}

// The value of a node for its side to move: (1 - minimax) * mean + minimax * best, where the mean is over its own
// evaluation and its visits, and the best is that of its visited moves which are not lost.
float Search::mixed_value(const Node& node, Color side) const {
    constexpr double NONE = -2;
    if (config_.proven_means && node.proof.known()) return value_of(node.proof, side);
    double sum = static_cast<double>(node.net_value), weight = 1, best = NONE;
    const Edge* const edges = tree_.edges_of(node);
    for (std::size_t i = 0; i < node.edges; ++i) {
        const Edge& edge = edges[i];
        const bool is_lost = edge.proof.is_loss();
        if (!edge.visits || (is_lost && config_.proven_means)) continue;
        sum += static_cast<double>(edge.visits) * static_cast<double>(edge.value);
        weight += edge.visits;
        if (!is_lost) best = std::max(best, static_cast<double>(edge.value));
    }
    const double share = best == NONE ? 0 : static_cast<double>(config_.minimax);
    return static_cast<float>((1 - share) * (sum / weight) + share * best);
}

// 8. Prove: propagate a new proof at the end of the path towards the root as far as it decides a node.
void Search::propagate_proof(Path path) {
    merge_proofs(path);
    if (config_.proven_means) mix_values(path);
}

void Search::merge_proofs(Path path) {
    for (std::size_t i = path.size(); i >= 2; i -= 2) {
        Node& node = tree_.nodes[path[i - 2]];
        const Edge* const edges = tree_.edges_of(node);
        MinimaxProof merged;
        for (std::size_t j = 0; j < node.edges; ++j) merged.add(edges[j].proof);
        const Proof proof = merged.result();
        if (!proof.known() || node.proof == proof) return;
        node.proof = proof;
        if (i >= 4) tree_.edges[path[i - 3]].proof = proof.for_mover();
    }
}

// Reverts what `select_leaf` counted on a path.
void Search::cancel(Path path) {
    for (std::size_t i = 0; i < path.size(); i += 2) {
        Edge& edge = tree_.edges[path[i + 1]];
        --tree_.nodes[path[i]].in_flight;
        --edge.in_flight;
        if (!edge.visits && !edge.in_flight) tree_.nodes[path[i]].visited_prior -= edge.prior;
    }
}

Proof Search::proof(std::uint32_t at) const {
    const Node& node = tree_.nodes[at];
    if (at || considered_.empty()) return node.proof;
    MinimaxProof merged;
    for (std::size_t i = 0; i < node.edges; ++i)
        if (considered_[i]) merged.add(tree_.edges_of(node)[i].proof);
    return merged.result();
}

// ---- native evaluators -------------------------------------------------------------------------

std::span<const Edge> Search::leaf_edges(std::uint32_t id) const {
    const Node& node = tree_.nodes[leaves_[id].node];
    return {tree_.edges_of(node), node.edges};
}

void Search::evaluate(std::uint32_t id, NativeEvaluator evaluator) {
    Move moves[MAX_MOVES];
    float priors[MAX_MOVES], wdl[3];
    const std::span<const Edge> edges = leaf_edges(id);
    for (std::size_t i = 0; i < edges.size(); ++i) moves[i] = edges[i].move;
    const Leaf& leaf = leaves_[id];
    evaluator(*variant_, leaf.state, leaf.key, {moves, edges.size()}, priors, wdl);
    apply(id, {priors, edges.size()}, wdl);
}

void Search::run(NativeEvaluator evaluator, std::uint32_t more_visits) {
    const std::uint32_t before = visits_;
    while (!done() && wants_playout() && visits_ - before < more_visits)
        if (playout() == Playout::LEAF) evaluate(last_leaf_, evaluator);
}

}  // namespace selfmate
