// Several threads on one tree, with a native evaluator.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "data/encode.h"
#include "search/search.h"

namespace selfmate {
namespace {

using Clock = std::chrono::steady_clock;

// Leaves that a thread selects under one lock: one for each VISITS_PER_LEAF visits of the tree, at most MAX_LEAVES.
// More of them amortise the transfer of changed cache lines from the thread that held the lock before.
constexpr std::size_t MAX_LEAVES = 16, VISITS_PER_LEAF = 256;
// Playouts of a thread under one lock: some microseconds.
constexpr std::size_t MAX_TRIES = 4 * MAX_LEAVES;

}  // namespace

// One parallel run with virtual loss. A lock protects selection and backup; rules, evaluation and the writing of new
// nodes run outside it. Nodes and edges must not move meanwhile, so the run ends when the reserved memory is used up.
// Every thread reserves the indices of its new nodes by one atomic addition; a node is unreachable until `expand` links
// it under the lock.
class Search::ParallelRun {
public:
    ParallelRun(Search& search, Clock::time_point end, NativeEvaluator evaluator, std::uint32_t more_visits,
                std::size_t threads)
        : search_(search),
          tree_(search.tree_),
          end_(end),
          evaluator_(evaluator),
          more_visits_(more_visits),
          visits_before_(search.visits_),
          nodes_before_(tree_.nodes.size()),
          edges_before_(tree_.edges.size()),
          max_new_nodes_(MAX_LEAVES * threads),
          used_(std::uint64_t(nodes_before_) << 32 | edges_before_) {
        // Twice what all threads together may add between two calls of `may_continue`.
        tree_.nodes.reserve(2 * max_new_nodes_);
        tree_.edges.reserve(2 * max_new_nodes_ * MAX_MOVES);
    }

    // The loop of one thread.
    void run_thread() {
        std::vector<Expansion> expansions(MAX_LEAVES);
        for (Expansion& each : expansions) each.selected.keys = search_.selected_.keys;
        std::unique_lock lock(lock_);
        while (may_continue()) {
            bool blocked = false;
            const std::size_t leaves = select_leaves(expansions, blocked);
            lock.unlock();
            expand_nodes(std::span(expansions).first(leaves));
            if (!leaves && blocked) std::this_thread::yield();
            lock.lock();
            back_up(std::span(expansions).first(leaves));
        }
    }

    // Makes the new nodes part of the tree's arrays, after all threads have returned.
    void finish() {
        tree_.nodes.add((used_ >> 32) - nodes_before_);
        tree_.edges.add((used_ & 0xffffffff) - edges_before_);
    }

private:
    // A leaf between its selection and its backup.
    struct Expansion {
        SelectedPath selected;
        bool drawn;
        MoveList moves;
        std::uint32_t node;
        float draw;  // probability, of the evaluator
    };

    bool has_visits_left() const {
        return search_.wants_playout() && search_.visits_ + search_.leaves_in_flight_ - visits_before_ < more_visits_;
    }

    bool may_continue() const {
        const std::size_t nodes = used_ >> 32, edges = used_ & 0xffffffff;
        return nodes + max_new_nodes_ <= tree_.nodes.capacity() &&
               edges + max_new_nodes_ * MAX_MOVES <= tree_.edges.capacity() &&
               nodes * sizeof(Node) + edges * sizeof(Edge) <= search_.config_.max_bytes && has_visits_left() &&
               Clock::now() < end_;
    }

    // Step 1 of a playout for several leaves, with the lock. Returns their number. Playouts that end in a proven result
    // are bounded, too: where every move is proven there is nothing else, and the clock is read in `may_continue`.
    std::size_t select_leaves(std::vector<Expansion>& expansions, bool& blocked) {
        const std::size_t max_leaves = std::clamp<std::size_t>(search_.visits_ / VISITS_PER_LEAF, 1, expansions.size());
        std::size_t leaves = 0;
        for (std::size_t tries = 0; tries < MAX_TRIES && leaves < max_leaves && !blocked && has_visits_left();
             ++tries) {
            const Playout playout = search_.select_leaf(expansions[leaves].selected);
            blocked = playout == Playout::BLOCKED;
            if (playout != Playout::LEAF) continue;
            ++leaves;
            ++search_.leaves_in_flight_;
        }
        return leaves;
    }

    // Steps 2, 3 and 6 of a playout: moves, new nodes, evaluations, without the lock.
    void expand_nodes(std::span<Expansion> expansions) {
        const Variant& variant = *search_.variant_;
        std::uint64_t size = 0;
        for (Expansion& each : expansions) {
            each.drawn = search_.make_moves(each.selected);
            if (each.drawn) continue;
            each.moves.clear();
            variant.legal_moves(each.selected.state, each.moves);
            size += node_and_edges(each.moves.size());
        }
        std::uint64_t place = used_.fetch_add(size);
        for (Expansion& each : expansions) {
            if (each.drawn) continue;
            const State& state = each.selected.state;
            each.node = static_cast<std::uint32_t>(place >> 32);
            search_.write_node(each.node, static_cast<std::uint32_t>(place), state, each.moves);
            place += node_and_edges(each.moves.size());
            if (tree_.nodes[each.node].proof.known()) continue;
            float priors[MAX_MOVES], wdl[3];
            evaluator_(variant, state, encoded_key(state, each.selected.repeated),
                       {each.moves.begin(), each.moves.end()}, priors, wdl);
            search_.set_evaluation(each.node, state, each.selected.moves.size(), {priors, each.moves.size()}, wdl);
            each.draw = wdl[1];
        }
    }

    // Steps 4, 7 and 8 of a playout, with the lock.
    void back_up(std::span<const Expansion> expansions) {
        search_.leaves_in_flight_ -= static_cast<std::uint32_t>(expansions.size());
        for (const Expansion& each : expansions) {
            if (each.drawn)
                search_.back_up_draw(each.selected);
            else if (!search_.expand(each.selected, each.node))
                search_.back_up(each.selected.indices, tree_.nodes[each.node].net_value, each.draw);
        }
    }

    static std::uint64_t node_and_edges(std::size_t edges) { return std::uint64_t(1) << 32 | edges; }

    Search& search_;
    Tree& tree_;
    const Clock::time_point end_;
    const NativeEvaluator evaluator_;
    const std::uint32_t more_visits_, visits_before_;
    const std::size_t nodes_before_, edges_before_;
    const std::size_t max_new_nodes_;  // by all threads between two calls of `may_continue`
    // Nodes in use (high 32 bits) and edges in use (low 32 bits) in one number, so that one atomic addition keeps the
    // edges in the order of their nodes.
    alignas(64) std::atomic<std::uint64_t> used_;
    alignas(64) SpinLock lock_;
};

void Search::run_for(double seconds, NativeEvaluator evaluator, std::uint32_t more_visits, Threads& threads) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const std::uint32_t before = visits_;
    while (Clock::now() < end && !full() && wants_playout() && visits_ - before < more_visits) {
        if (threads.size() > 1 && !tree_.nodes.empty()) {
            const std::size_t count = static_cast<std::size_t>(threads.size());
            ParallelRun run(*this, end, evaluator, more_visits - (visits_ - before), count);
            threads.each(count, [&](std::size_t) { run.run_thread(); });
            run.finish();
        } else if (playout() == Playout::LEAF) {
            evaluate(last_leaf_, evaluator);
        }
    }
}

}  // namespace selfmate
