// A tree for whole games: threads share it, moves lead on in it, and it stays within its memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "data/encode.h"
#include "search/search.h"

namespace selfmate {

// ---- several threads ---------------------------------------------------------------------------

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
                work.proof = examine(state, work.moves, work.results);
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
