// One search: playouts from a root, each of which ends in a result of the rules or in a leaf that waits for an
// evaluator. Many leaves may wait at once; they are answered in any order.
//
// search.cpp is one playout, from the root to a leaf and back; search_result.cpp says what the playouts have found;
// search_play.cpp has what play wants beyond that: threads on one tree, one that is kept from move to move, in its memory.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "board/variant.h"
#include "search/native_evaluators.h"
#include "search/tree.h"
#include "util/random.h"
#include "util/threads.h"

namespace selfmate {

struct SearchConfig {
    // Inside the tree: PUCT (Silver et al. 2018) with first-play urgency below the parent's value (Lc0's 0.33).
    float cpuct = 1.25f;
    float fpu_reduction = 0.33f;
    float draw_score = 0;  // what a draw is worth to the side at the root
    int virtual_loss = 1;  // losses that a playout in flight counts as
    // At the root: PUCT with noise, or Gumbel with sequential halving and completed Q (Danihelka et al. 2022,
    // defaults of mctx).
    bool gumbel = false;
    int considered = 16;
    float gumbel_scale = 1;
    float value_scale = 0.1f;
    float maxvisit_init = 50;
    float noise_alpha = 0.3f;
    float noise_epsilon = 0;
    // When to stop before the visits are used up.
    bool stop_when_proven = true;
    // A tree that has grown so large gives up its least visited half, and grows on.
    std::uint64_t max_bytes = std::uint64_t(1) << 30;
    // Choose the move whose value is surely the highest, of those with many visits, not the most visited one.
    bool lcb = false;
};

// A position that waits for its evaluation.
struct Leaf {
    State state;
    bool repeated = false;
    Key key = 0;  // of what the encoder sees
    std::uint32_t node = 0;
    std::vector<std::uint32_t> path;  // node, edge, node, edge, … from the root
};

// A way from the root down the tree, and the position at its end.
struct Trail {
    std::vector<std::uint32_t> path;  // node, edge, node, edge, …
    std::vector<Move> moves;
    std::vector<Key> line;  // keys of the history, of the root, and of the positions on the way but the last
    State state;
    bool repeated = false;
};

struct MoveStats {
    Move move;
    std::uint32_t visits;
    float value, draw, prior;
    float weight;  // in the improved policy, the learner's target
    Proof proof;
    std::optional<float> net_value;  // the evaluator's word on the position behind it
};

enum class Playout {
    LEAF,       // `leaf()` waits for `apply`
    BACKED_UP,  // ended in a result that is already counted
    BLOCKED,    // ran into a position that waits: nothing more to do before an `apply`
};

class Search {
public:
    // `history`: keys of the positions before the root that may still be repeated, oldest first. `moves`: the only
    // ones to consider at the root; all, if there are none.
    void begin(const Variant& variant, const State& root, std::span<const Key> history, const SearchConfig& config,
               std::uint32_t visits, std::uint64_t seed, std::span<const Move> moves = {});
    // The same, with what is known of the position if it lies in the tree, at most two plies below the root, and
    // nothing waits. Says whether it was there.
    bool move_to(const Variant& variant, const State& root, std::span<const Key> history, const SearchConfig& config,
                 std::uint32_t visits, std::uint64_t seed, std::span<const Move> moves = {});

    bool done() const;
    bool wants_playout() const;  // not done, and not all its visits are in flight
    bool full() const { return tree_.bytes() > config_.max_bytes; }
    void prune();  // to half the size; nothing may be waiting

    Playout playout();
    std::uint32_t last_leaf() const { return last_leaf_; }
    const Leaf& leaf(std::uint32_t id) const { return leaves_[id]; }
    std::span<const Edge> leaf_edges(std::uint32_t id) const;
    // Priors in the order of `leaf_edges`; an edge beyond them has none.
    void apply(std::uint32_t id, std::span<const float> priors, const float* wdl);
    // As if the leaf had never been asked for.
    void abandon(std::uint32_t id);

    // Evaluates a leaf with an evaluator of our own, and applies its answer.
    void answer(std::uint32_t id, NativeEvaluator evaluator);
    // The search with an evaluator of our own, to its end or for so many more visits.
    void run(NativeEvaluator evaluator, std::uint32_t more_visits = 0xffffffff);
    // The same for a short time, on several threads that share the tree; ends early when the tree is full. With one
    // thread the visits are those of `run`.
    void run_for(double seconds, NativeEvaluator evaluator, std::uint32_t more_visits, Threads& threads);

    // What is known of the moves at the root or at another node.
    std::vector<MoveStats> moves(std::uint32_t at = 0) const;  // best first
    std::size_t best(std::uint32_t at = 0) const;              // index of the edge to play
    Proof proof(std::uint32_t at = 0) const;                   // of the moves that are considered
    std::size_t sample(double temperature, Random& random) const;
    std::vector<Move> principal_variation(std::size_t edge, std::uint32_t at = 0) const;
    // The node behind a move at the root, or NO_NODE.
    std::uint32_t node_behind(Move move) const;

    const Node& root() const { return tree_.nodes[0]; }
    const State& root_state() const { return root_state_; }
    Move root_move(std::size_t edge) const { return tree_.edges_of(root())[edge].move; }
    std::uint32_t visits() const { return done_visits_; }
    std::uint32_t collisions() const { return collisions_; }
    std::uint64_t depth_sum() const { return depth_sum_; }
    std::uint32_t max_depth() const { return max_depth_; }
    const Tree& tree() const { return tree_; }

private:
    Playout walk(Trail& trail);
    bool follow(Trail& trail) const;
    template <class Write>
    Proof examine(const State& state, const MoveList& moves, Write write) const;
    Proof examine(const State& state, const MoveList& moves, Proof* results) const;
    void share_for(std::chrono::steady_clock::time_point end, NativeEvaluator evaluator, std::uint32_t more_visits,
                   Threads& threads);
    bool settle(const Trail& trail, std::uint32_t at);
    void draw(const Trail& trail);
    void accept(std::uint32_t node, std::span<const std::uint32_t> path, Color turn, std::span<const float> priors,
                const float* wdl);
    std::uint32_t select(const Node& node, const std::uint8_t* considered) const;
    std::uint32_t select_root() const;
    std::uint32_t select_gumbel() const;
    bool is_repetition(const Trail& trail, bool& repeated) const;
    Proof result_of(const State& state, Move move) const;
    void back_up(std::span<const std::uint32_t> path, float value, float draw);
    void release(std::span<const std::uint32_t> path);
    void prove(std::span<const std::uint32_t> path);
    void prepare_root();
    void consider_moves();
    void completed_values(std::vector<double>& out) const;
    std::uint32_t find(const State& state) const;
    void forget_draws();
    double lower_bound(std::size_t edge) const;
    bool is_considered(std::uint32_t at, std::size_t edge) const {
        return at || considered_.empty() || considered_[edge];
    }
    float value_of(const float* wdl, Color side) const;
    // What a result is worth to a side; a draw has the worth that the side at the root gives it.
    float worth(Proof proof, Color side) const;

    const Variant* variant_ = nullptr;
    SearchConfig config_;
    State root_state_;
    std::uint32_t budget_ = 0;
    std::uint64_t seed_ = 0;
    Tree tree_;
    std::size_t root_at_ = 0;  // in the line of every trail
    Trail trail_;
    std::vector<Move> only_;                // moves to consider at the root; all, if there are none
    std::vector<std::uint8_t> considered_;  // the same, by edge
    std::vector<Leaf> leaves_;
    std::vector<std::uint32_t> free_leaves_;
    std::uint32_t last_leaf_ = 0;
    std::uint32_t done_visits_ = 0, waiting_ = 0, collisions_ = 0, max_depth_ = 0;
    std::uint64_t depth_sum_ = 0;
    // For the lower bound: squared deviations of each root edge's values since it is one, and how many they are.
    std::vector<double> deviation_;
    std::vector<std::uint32_t> deviations_;
    // Gumbel root: noise and logit of each edge, and how many visits the next candidate should have.
    std::vector<double> gumbel_, logit_;
    std::vector<std::uint32_t> schedule_;
    mutable std::vector<double> scratch_;
};

}  // namespace selfmate
