// Batches over all games of a pool: select leaves, gather, apply.
#include <algorithm>
#include <chrono>

#include "search/pool.h"
#include "util/error.h"

namespace selfmate {
namespace {

// Playouts that end by the rules need no evaluation; the limit keeps a game that has leaves from delaying its batch.
constexpr int MAX_PLAYOUTS_PER_SELECTION = 64;

// Open batches below which a greedy pool hands out a partial batch: while a device computes one, the next is ready.
// Beyond that, leaves wait to form larger batches.
constexpr std::size_t MAX_PARTIAL_BATCHES = 2;
// A greedy batch counts as full if at most 1/64 of its rows are missing.
constexpr std::size_t FULL_BATCH_SLACK = 64;

thread_local double last_wait = 0;  // of this thread, in seconds

// Locks the mutex and notes how long that took.
std::unique_lock<std::mutex> lock_and_measure(std::mutex& mutex) {
    last_wait = 0;
    std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) {
        const auto began = std::chrono::steady_clock::now();
        lock.lock();
        last_wait = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
    return lock;
}

}  // namespace

// Advances a game until it has leaves for an evaluator, needs an external move, or is finished. Leaves in the cache are
// applied together with the others of their selection and in their order, so that the search does not depend on the
// cache; if all of them are in it, at once.
void Pool::select_leaves(std::size_t index) {
    Slot& slot = slots_[index];
    SlotSummary& summary = summaries_[index];
    const auto stopped = [&] { return slot.finished || slot.needs_external_move; };
    do {
        slot.leaves.clear();
        slot.cached.clear();
        summary.leaves = summary.max_moves = 0;
        for (int playouts = 0; playouts < MAX_PLAYOUTS_PER_SELECTION && slot.leaves.size() < config_.leaves_per_slot;) {
            if (stopped()) break;
            if (mover(slot).plays_random_moves() || slot.search.done()) {
                finish_search(slot);
                continue;
            }
            if (!slot.search.wants_playout()) break;
            ++playouts;
            const Playout playout = slot.search.playout();
            if (playout == Playout::BLOCKED) break;
            if (playout != Playout::LEAF) continue;
            const std::uint32_t leaf = slot.search.last_leaf();
            slot.leaves.push_back(leaf);
            slot.cached.push_back(config_.cache && cache(slot).contains(slot.search.leaf(leaf)));
            if (slot.cached.back()) continue;
            ++summary.leaves;
            summary.max_moves =
                std::max(summary.max_moves, static_cast<std::uint16_t>(slot.search.leaf_edges(leaf).size()));
        }
        if (!summary.leaves)
            for (std::size_t i = 0; i < slot.leaves.size(); ++i) apply_cached(slot, i);
    } while (!summary.leaves && !stopped());
    update_summary(index);
}

// Applies the cached evaluation of a leaf of the present selection.
void Pool::apply_cached(Slot& slot, std::size_t leaf) {
    const CachedEvaluation found = cache(slot).at(slot.search.leaf(slot.leaves[leaf]));
    slot.search.apply(slot.leaves[leaf], found.priors, found.wdl);
}

// Selects the leaves of games that have begun or received an external move. All other games have theirs since their
// last evaluations were applied.
void Pool::select_leaves_of_new_games() {
    work_slots_.clear();
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (!summaries_[i].leaves && summaries_[i].evaluator != NOT_SEARCHING)
            work_slots_.push_back(static_cast<std::uint32_t>(i));
    if (work_slots_.empty()) return;
    threads_->each(work_slots_.size(), [&](std::size_t k) { select_leaves(work_slots_[k]); });
    count_event();
}

// Rows of the next batch, at most.
std::size_t Pool::max_rows_now() const {
    if (config_.greedy) return lane_rows();
    const auto searching =
        static_cast<std::size_t>(std::count_if(summaries_.begin(), summaries_.end(), [](const SlotSummary& summary) {
            return summary.evaluator != NOT_SEARCHING;
        }));
    return std::min(lane_rows(), (searching + config_.lanes - 1) / config_.lanes * config_.leaves_per_slot);
}

// Whether this number of leaves becomes a batch now, or waits for more leaves.
bool Pool::is_batch_due(std::size_t leaves) const {
    const std::size_t full = lane_rows() - lane_rows() / FULL_BATCH_SLACK;
    return leaves &&
           (!config_.greedy || tickets_.size() < MAX_PARTIAL_BATCHES || leaves + config_.leaves_per_slot > full);
}

double Pool::seconds_waited() { return last_wait; }

std::uint64_t Pool::gather(std::uint8_t evaluator, const AllocateRows& allocate) {
    const auto lock = lock_and_measure(mutex_);
    refill_slots();
    select_leaves_of_new_games();
    // 1. Choose slots with leaves for this evaluator, round robin, until the batch is full.
    const std::size_t max_rows = max_rows_now();
    std::size_t size = 0, max_moves = 0, seen = 0;
    work_slots_.clear();
    for (; seen < slots_.size() && size + config_.leaves_per_slot <= max_rows; ++seen) {
        const std::size_t i = (next_slot_ + seen) % slots_.size();
        SlotSummary& summary = summaries_[i];
        if (summary.in_batch || !summary.leaves || summary.evaluator != evaluator) continue;
        work_slots_.push_back(static_cast<std::uint32_t>(i));
        summary.first_row = static_cast<std::uint32_t>(size);
        size += summary.leaves;
        max_moves = std::max<std::size_t>(max_moves, summary.max_moves);
    }
    if (!is_batch_due(size)) return 0;
    // 2. Encode their leaves.
    Ticket ticket{next_ticket_, std::vector<BatchRow>(size)};
    const LeafRows rows = allocate(size, max_moves);
    next_slot_ = (next_slot_ + seen) % slots_.size();
    threads_->each(work_slots_.size(), [&](std::size_t k) {
        const Slot& slot = slots_[work_slots_[k]];
        std::uint32_t row = summaries_[work_slots_[k]].first_row;
        summaries_[work_slots_[k]].in_batch = true;
        for (std::size_t i = 0; i < slot.leaves.size(); ++i) {
            if (slot.cached[i]) continue;
            ticket.rows[row] = {work_slots_[k], slot.leaves[i]};
            rows.write(row++, *config_.variant, slot.search, slot.leaves[i]);
        }
    });
    tickets_.push_back(std::move(ticket));
    return next_ticket_++;
}

LeafBatch Pool::gather(std::uint8_t evaluator) {
    const Encoding& encoded = encoding(evaluator);
    LeafBatch batch(0, encoded);
    const std::uint64_t ticket = gather(evaluator, [&](std::size_t size, std::size_t) {
        batch = LeafBatch(size, encoded);
        return batch.rows();
    });
    batch.ticket = ticket;
    return batch;
}

std::vector<Pool::Ticket>::iterator Pool::find_ticket(std::uint64_t id) {
    return std::find_if(tickets_.begin(), tickets_.end(), [&](const Ticket& ticket) { return ticket.id == id; });
}

std::vector<Pool::BatchRow> Pool::close_ticket(std::uint64_t id) {
    const auto found = find_ticket(id);
    if (found == tickets_.end())
        throw Error("SearchError", "ticket " + std::to_string(id) + " is not open", std::to_string(id));
    std::vector<BatchRow> rows = std::move(found->rows);
    tickets_.erase(found);
    return rows;
}

// Applies evaluations, then selects the next leaves, slot by slot. One thread does both for a slot, while its tree is
// in that core's cache.
void Pool::for_each_slot(const std::vector<BatchRow>& rows, const std::function<void(Slot&, std::size_t row)>& work) {
    std::vector<std::size_t> begins;  // first row of each slot
    for (std::size_t row = 0; row < rows.size(); ++row)
        if (!row || rows[row].slot != rows[row - 1].slot) begins.push_back(row);
    threads_->each(begins.size(), [&](std::size_t i) {
        const std::size_t index = rows[begins[i]].slot;
        Slot& slot = slots_[index];
        std::size_t row = begins[i];
        for (std::size_t leaf = 0; leaf < slot.leaves.size(); ++leaf) {
            if (slot.cached[leaf])
                apply_cached(slot, leaf);
            else
                work(slot, row++);
        }
        summaries_[index].in_batch = false;
        select_leaves(index);
    });
    count_event();
}

void Pool::apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl) {
    const auto lock = lock_and_measure(mutex_);
    if (const auto open = find_ticket(ticket); open != tickets_.end() && open->rows.size() != size)
        throw Error("SearchError",
                    "ticket " + std::to_string(ticket) + " has " + std::to_string(open->rows.size()) + " rows, not " +
                        std::to_string(size),
                    std::to_string(size));
    const std::vector<BatchRow> rows = close_ticket(ticket);
    std::vector<const char*> faults(rows.size(), nullptr);
    for_each_slot(rows, [&](Slot& slot, std::size_t row) {
        Search& search = slot.search;
        const std::uint32_t leaf = rows[row].leaf;
        const std::span<const float> row_priors(priors + row * stride,
                                                std::min(stride, search.leaf_edges(leaf).size()));
        faults[row] = search.evaluation_fault(leaf, row_priors, wdl + row * 3, encoding_);
        if (faults[row]) return search.abandon(leaf);
        if (config_.cache) cache(slot).add(search.leaf(leaf), row_priors, wdl + row * 3);
        search.apply(leaf, row_priors, wdl + row * 3);
    });
    for (std::size_t row = 0; row < rows.size(); ++row)
        if (faults[row]) EvaluationFault{faults[row], row}.raise();
}

void Pool::apply(std::uint64_t ticket, NativeEvaluator evaluator) {
    const std::lock_guard lock(mutex_);
    const std::vector<BatchRow> rows = close_ticket(ticket);
    for_each_slot(rows, [&](Slot& slot, std::size_t row) { slot.search.evaluate(rows[row].leaf, evaluator); });
}

void Pool::run(NativeEvaluator evaluator) {
    if (std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.external; }))
        throw Error("SearchError", "an external seat needs Pool.play; Pool.run plays native evaluators only",
                    "external");
    const std::lock_guard lock(mutex_);
    while (!is_done()) {
        refill_slots();
        threads_->each(slots_.size(), [&](std::size_t i) {
            Slot& slot = slots_[i];
            while (slot.playing && !slot.finished) {
                if (!mover(slot).plays_random_moves()) slot.search.run(evaluator);
                finish_search(slot);
            }
            update_summary(i);
        });
        refill_slots();
    }
}

}  // namespace selfmate
