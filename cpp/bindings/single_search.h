// The class behind Python's Search: one tree with tickets.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "board/position.h"
#include "search/leaf_batch.h"
#include "util/error.h"

namespace selfmate {

// A search with tickets for batches of its leaves. `move_to` continues with the tree at another position.
class SingleSearch {
public:
    SingleSearch(const Position& position, const SearchConfig& config, std::uint32_t visits, std::uint64_t seed,
                 const std::vector<Move>& moves, const std::optional<Encoding>& encoding = std::nullopt)
        : variant_(&position.variant()), encoding_(encoding.value_or(encoding_of(*variant_))) {
        check_legal(position, moves);
        check_encoding();
        search.begin({.variant = *variant_,
                      .root = position.state(),
                      .history = history(position),
                      .config = config,
                      .visits = visits,
                      .seed = seed,
                      .searchmoves = moves,
                      .encoding = &encoding_,
                      .past = position.past_states()});
    }

    bool move_to(const Position& position, const SearchConfig& config, std::uint32_t visits, std::uint64_t seed,
                 const std::vector<Move>& moves) {
        check_legal(position, moves);
        abandon();
        variant_ = &position.variant();
        if (encoding_.is_default()) encoding_ = encoding_of(*variant_);
        check_encoding();
        return search.move_to({.variant = *variant_,
                               .root = position.state(),
                               .history = history(position),
                               .config = config,
                               .visits = visits,
                               .seed = seed,
                               .searchmoves = moves,
                               .encoding = &encoding_,
                               .past = position.past_states()});
    }

    // Abandons the leaves of all open tickets.
    void abandon() {
        for (const auto& [ticket, leaves] : tickets_)
            for (const std::uint32_t leaf : leaves) search.abandon(leaf);
        tickets_.clear();
    }

    // The threads of `run_for`, kept between calls.
    Threads& threads(int count) {
        if (!threads_ || threads_->size() != count) threads_ = std::make_unique<Threads>(count);
        return *threads_;
    }

    LeafBatch gather(std::size_t max_leaves) {
        std::vector<std::uint32_t> leaves;
        for (std::size_t tries = 0; leaves.size() < max_leaves && tries < 4 * max_leaves + 64 && search.wants_playout();
             ++tries) {
            const Playout playout = search.playout();
            if (playout == Playout::LEAF) leaves.push_back(search.last_leaf());
            if (playout == Playout::BLOCKED) break;
        }
        LeafBatch batch(leaves.size(), encoding_);
        batch.ticket = next_ticket_++;
        const LeafRows rows = batch.rows();
        for (std::size_t row = 0; row < leaves.size(); ++row) rows.write(row, *variant_, search, leaves[row]);
        if (batch.size) tickets_.emplace_back(batch.ticket, std::move(leaves));
        return batch;
    }

    void apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl) {
        if (const auto open = find_ticket(ticket); open != tickets_.end() && open->second.size() != size)
            throw Error("SearchError",
                        "ticket " + std::to_string(ticket) + " has " + std::to_string(open->second.size()) +
                            " rows, not " + std::to_string(size),
                        std::to_string(size));
        const std::vector<std::uint32_t> leaves = close_ticket(ticket);
        std::optional<EvaluationFault> fault;
        for (std::size_t row = 0; row < size; ++row) {
            const std::span<const float> row_priors(priors + row * stride, stride);
            const char* const wrong = search.evaluation_fault(leaves[row], row_priors, wdl + row * 3, encoding_);
            if (!wrong)
                search.apply(leaves[row], row_priors, wdl + row * 3);
            else {
                search.abandon(leaves[row]);
                if (!fault) fault = {wrong, row};
            }
        }
        if (fault) fault->raise();
    }

    void apply(std::uint64_t ticket, NativeEvaluator evaluator) {
        for (const std::uint32_t leaf : close_ticket(ticket)) search.evaluate(leaf, evaluator);
    }

    Search search;

private:
    static void check_legal(const Position& position, const std::vector<Move>& moves) {
        if (!position.variant().count_moves(position.state()))
            throw Error("SearchError", "there is no move to search for: the game is over",
                        position.fen(Castling::X_FEN));
        for (const Move move : moves)
            if (!position.is_legal(move))
                throw Error("IllegalMove", in_quotes(write_move(move)) + " is not legal here", write_move(move));
    }
    void check_encoding() const {
        if (encoding_.variant != variant_->name)
            throw Error("SearchError",
                        "an encoding of " + std::string(encoding_.variant) + " for a position of " +
                            std::string(variant_->name),
                        encoding_.variant);
    }
    static std::span<const Key> history(const Position& position) {
        const std::span<const Key> keys = position.past_keys();
        return keys.last(std::min<std::size_t>(position.state().halfmove_clock, keys.size()));
    }

    // (ticket, ids of its leaves)
    using Tickets = std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>>;

    Tickets::iterator find_ticket(std::uint64_t ticket) {
        return std::find_if(tickets_.begin(), tickets_.end(), [&](const auto& each) { return each.first == ticket; });
    }
    std::vector<std::uint32_t> close_ticket(std::uint64_t ticket) {
        const auto found = find_ticket(ticket);
        if (found == tickets_.end())
            throw Error("SearchError", "ticket " + std::to_string(ticket) + " is not open", std::to_string(ticket));
        std::vector<std::uint32_t> leaves = std::move(found->second);
        tickets_.erase(found);
        return leaves;
    }

    const Variant* variant_;
    Encoding encoding_;
    Tickets tickets_;
    std::uint64_t next_ticket_ = 1;
    std::unique_ptr<Threads> threads_;
};

}  // namespace selfmate
