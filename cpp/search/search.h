// One tree search (PUCT, or Gumbel at the root) from one position. A playout ends in a result by the rules, which is
// backed up at once, or in a leaf that needs an evaluation. Any number of leaves may be in flight; their evaluations
// are applied in any order.
//
//     search.cpp             one playout: select, make moves, find terminal moves, expand, evaluate, back up, prove
//     selection.cpp          PUCT, Gumbel with sequential halving, root noise
//     selection_options.cpp  UCB1, the noise bonus, some of the moves, an early end
//     result.cpp             the move to play and the statistics of all moves
//     forced_win.cpp         a short alpha-beta search before the first playout
//     parallel_search.cpp    several threads on one tree
//     tree_reuse.cpp         the tree from move to move, within its memory
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "board/variant.h"
#include "data/encoders.h"
#include "search/config.h"
#include "search/native_evaluators.h"
#include "search/tree.h"
#include "util/random.h"
#include "util/threads.h"

namespace selfmate {

// What to search. `history`: keys of the positions before the root that may still be repeated, oldest first.
// `searchmoves`: the only root moves to consider; all if empty. References must stay valid during the call only.
struct SearchTask {
    const Variant& variant;
    const State& root;
    std::span<const Key> history{};
    const SearchConfig& config;
    std::uint32_t visits;
    std::uint64_t seed = 0;
    std::span<const Move> searchmoves{};
    // The encoding of the leaves; without one the variant's own. `past`: the positions before the root, oldest first.
    const Encoding* encoding = nullptr;
    std::span<const State> past{};
};

// A position that needs an evaluation.
struct Leaf {
    State state;
    bool repeated = false;  // it has occurred before in the game or on the path
    Key key = 0;            // hash of the encoder's input
    std::uint32_t node = 0;
    std::vector<std::uint32_t> path;  // node, edge, node, edge, … from the root
    std::vector<State> past;          // the positions before, as many as the encoder sees, oldest first
};

// A path that selection took from the root to an edge without child, and the position behind that edge.
struct SelectedPath {
    std::vector<std::uint32_t> indices;  // node, edge, node, edge, …; empty for the root itself
    std::vector<Move> moves;
    std::vector<Key> keys;  // of the history, the root, and the positions on the path without the last
    State state;            // valid after `make_moves`, as are `repeated` and `past`
    bool repeated = false;
    std::vector<State> past;  // the positions before `state`, oldest first; empty unless the encoder sees them
};

struct MoveStats {
    Move move;
    std::uint32_t visits;
    float value, draw, prior;
    float weight;  // in the improved policy, the learner's target; the weights of all moves sum to 1
    Proof proof;
    std::optional<float> net_value;  // of the position behind the move, for the side to move at the root
};

// An evaluation that cannot be applied: what is wrong, in which row of its batch.
struct EvaluationFault {
    const char* what;
    std::size_t row;

    [[noreturn]] void raise() const;
};

enum class Playout {
    LEAF,       // `last_leaf()` needs an evaluation
    BACKED_UP,  // ended in a result that is already counted as a visit
    BLOCKED,    // collided with a leaf in flight: no further playout before an `apply`
};

// Owns the tree and the leaves in flight. Not thread-safe; `run_for` uses threads inside.
class Search {
public:
    void begin(const SearchTask& task);
    // As `begin`, but keeps the subtree of the new root if it is in the tree at most two plies below the old one, and
    // no leaf is in flight. Returns whether it was found.
    bool move_to(const SearchTask& task);

    bool done() const;
    bool wants_playout() const;  // not done, and fewer visits completed or in flight than the budget
    bool full() const { return tree_.bytes() > config_.max_bytes; }
    void prune();  // to half of `max_bytes`; no leaf may be in flight

    Playout playout();
    std::uint32_t last_leaf() const { return last_leaf_; }
    const Leaf& leaf(std::uint32_t id) const { return leaves_[id]; }
    std::span<const Edge> leaf_edges(std::uint32_t id) const;
    // Applies an evaluation. `priors`: in the order of `leaf_edges`; edges beyond them get 0. `wdl`: float[3].
    void apply(std::uint32_t id, std::span<const float> priors, const float* wdl);
    // What is wrong with an evaluation of a leaf, or null: too few priors, or numbers that are not probabilities.
    const char* evaluation_fault(std::uint32_t id, std::span<const float> priors, const float* wdl,
                                 const Encoding& encoding) const;
    // Removes a leaf from the tree, with its visits in flight.
    void abandon(std::uint32_t id);

    // Evaluates a leaf with a native evaluator and applies the evaluation.
    void evaluate(std::uint32_t id, NativeEvaluator evaluator);
    // Runs playouts with a native evaluator until the search is done or has `more_visits` more visits.
    void run(NativeEvaluator evaluator, std::uint32_t more_visits = 0xffffffff);
    // The same for at most `seconds` on the given threads; also returns when the tree is full. With one thread the
    // visits are those of `run`.
    void run_for(double seconds, NativeEvaluator evaluator, std::uint32_t more_visits, Threads& threads);

    // Results at the root (node 0) or at another node.
    std::vector<MoveStats> moves(std::uint32_t at = 0) const;  // best first
    std::size_t best(std::uint32_t at = 0) const;              // index of the edge to play
    Proof proof(std::uint32_t at = 0) const;                   // over the considered moves
    std::size_t sample(double temperature, Random& random) const;
    std::vector<Move> principal_variation(std::size_t edge, std::uint32_t at = 0) const;
    // The child of the root behind a move, or NO_NODE.
    std::uint32_t root_child(Move move) const;

    const Node& root() const { return tree_.nodes[0]; }
    const State& root_state() const { return root_state_; }
    const SearchConfig& config() const { return config_; }
    const Encoding& encoding() const { return encoding_; }
    Move root_move(std::size_t edge) const { return tree_.edges_of(root())[edge].move; }
    std::uint32_t visits() const { return visits_; }
    std::uint32_t collisions() const { return collisions_; }
    std::uint64_t depth_sum() const { return depth_sum_; }
    std::uint32_t max_depth() const { return max_depth_; }
    const Tree& tree() const { return tree_; }

private:
    using Path = std::span<const std::uint32_t>;  // node, edge, node, edge, …
    class ParallelRun;                            // parallel_search.cpp

    // Steps of a playout, in their order.
    Playout select_leaf(SelectedPath& selected);
    bool make_moves(SelectedPath& selected) const;
    void back_up_draw(const SelectedPath& selected);
    void write_node(std::uint32_t at, std::size_t first_edge, const State& state, const MoveList& moves);
    bool expand(const SelectedPath& selected, std::uint32_t at);
    float set_evaluation(std::uint32_t at, const State& state, std::size_t depth, std::span<const float> priors,
                         const float* wdl);
    void back_up(Path path, float value, float draw);
    void mix_values(Path path);
    float mixed_value(const Node& node, Color side) const;
    void propagate_proof(Path path);
    void merge_proofs(Path path);
    void cancel(Path path);

    std::uint32_t select_root() const;
    template <bool ROOT, bool LIMITED>
    std::uint32_t select_puct(const Node& node) const;
    std::uint32_t select_gumbel() const;
    template <bool ROOT>
    std::uint32_t select_by_rule(std::uint32_t at) const;
    template <bool ROOT>
    std::uint32_t select_ucb1(const Node& node) const;
    template <bool ROOT>
    std::uint32_t select_by_noise(std::uint32_t at) const;
    template <bool ROOT, class Score>
    std::uint32_t select_highest(const Node& node, Score score) const;
    float exploration(std::uint32_t visits) const {
        return config_.cpuct_base > 0 ? growing_exploration(visits) : config_.cpuct;
    }
    float growing_exploration(std::uint32_t visits) const;
    std::uint32_t move_limit(std::uint32_t visits) const;
    float penalty(std::size_t root_edge) const { return penalties_.empty() ? 0.0f : penalties_[root_edge]; }
    void completed_values(std::vector<double>& out) const;
    void prepare_root();
    void mix_noise(Node& node, float alpha, Random& random);
    void mix_noise_below(std::uint32_t at, Key key, std::size_t depth);
    void sort_edges(const Node& node);
    void filter_root_moves();
    void seek_forced_win();
    bool may_repeat_thrice() const;
    void penalise_repetitions();
    bool is_decided() const;
    bool is_dominated() const;
    bool ends_early() const { return is_decided() || (config_.stop_share > 0 && is_dominated()); }
    bool is_repetition(const SelectedPath& selected, bool& repeated) const;
    bool is_over(const State& state) const;
    Proof result_without_moves(const State& state) const;
    Proof result_of_move(const State& state, Move move) const;
    std::uint32_t find_node(const State& state) const;
    void forget_draws();
    double lower_bound(std::size_t edge) const;
    bool is_considered(std::uint32_t at, std::size_t edge) const {
        return at || considered_.empty() || considered_[edge];
    }
    float value_of(const float* wdl, Color side) const;
    // The value of a proven result for a side; a draw counts as `draw_score` for the side to move at the root.
    float value_of(Proof proof, Color side) const;

    const Variant* variant_ = nullptr;
    SearchConfig config_;
    bool has_plain_selection_ = true;  // PUCT over all moves
    bool changes_priors_ = false;      // noise below the root, or edges in the order of their priors
    Encoding encoding_;
    State root_state_;
    std::vector<State> past_;  // before the root, as many as the encoder sees
    std::uint32_t visit_budget_ = 0;
    std::uint64_t seed_ = 0;
    Tree tree_;
    std::size_t root_key_ = 0;  // index of the root's key in SelectedPath::keys
    SelectedPath selected_;
    std::vector<Move> searchmoves_;
    std::vector<std::uint8_t> considered_;  // by root edge, whether it is one of `searchmoves_`; empty: all are
    std::vector<float> penalties_;          // by root edge, of moves that repeat a position; empty: none
    std::vector<Move> forced_line_;         // of the win that `seek_forced_win` found; empty: none
    Proof forced_proof_;                    // of its first move
    std::vector<Leaf> leaves_;
    std::vector<std::uint32_t> free_leaves_;
    std::uint32_t last_leaf_ = 0;
    std::uint32_t visits_ = 0, leaves_in_flight_ = 0, collisions_ = 0, max_depth_ = 0;
    std::uint64_t depth_sum_ = 0;
    // For the lower confidence bound, by root edge: sum of squared deviations of the backed-up values from their
    // running mean (Welford 1962), and their number. Empty without `lcb`.
    std::vector<double> squared_deviations_;
    std::vector<std::uint32_t> deviation_counts_;
    // Gumbel root: noise and logit of each edge, and the visits that the edge of each simulation should have.
    std::vector<double> gumbel_, logit_;
    std::vector<std::uint32_t> schedule_;
    mutable std::vector<double> scratch_;
};

}  // namespace selfmate
