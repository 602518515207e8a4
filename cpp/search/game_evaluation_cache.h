// The evaluations of one game's last two searches. Positions come up again by transposition, and in the search of the
// next move: about a third of all leaves. The answer is the same to the bit, so games do not depend on the cache.
// Players keep the evaluations of whole games in another one, by net and outside the core (evaluator/cache.py).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search/search.h"

namespace selfmate {

struct CachedEvaluation {
    std::span<const float> priors;  // in the order of the leaf's edges
    const float* wdl;               // [3]
};

// Owns two generations: the present search, and the one before it. Not thread-safe.
class GameEvaluationCache {
public:
    // Forgets everything, at the start of a game.
    void clear() {
        present_.clear();
        previous_.clear();
    }
    // Keeps the evaluations of the last search and forgets those before it.
    void begin_search() {
        std::swap(present_, previous_);
        present_.clear();
    }
    // Whether there is an evaluation of a leaf. One of the last search is kept for the next search too.
    bool contains(const Leaf& leaf) {
        const Key key = key_of(leaf);
        if (present_.find(key) != NOT_FOUND) return true;
        const std::size_t entry = previous_.find(key);
        if (entry == NOT_FOUND) return false;
        const CachedEvaluation found = previous_.at(entry);
        present_.add(key, found.priors, found.wdl);
        return true;
    }
    // The evaluation of a leaf that the cache contains; valid until the next change.
    CachedEvaluation at(const Leaf& leaf) const { return present_.at(present_.find(key_of(leaf))); }
    // Adds an evaluation, unless there is one of the same position.
    void add(const Leaf& leaf, std::span<const float> priors, const float* wdl) {
        const Key key = key_of(leaf);
        if (present_.find(key) == NOT_FOUND) present_.add(key, priors, wdl);
    }

private:
    static constexpr std::size_t NOT_FOUND = ~std::size_t(0);

    // Positions with colours exchanged have the same input and the same key, but their moves in another order.
    static Key key_of(const Leaf& leaf) { return leaf.state.turn == WHITE ? leaf.key : ~leaf.key; }

    // Entries in the order in which they came, and a table of open addressing that finds them by key.
    class Generation {
    public:
        void clear() {
            entries_.clear();
            numbers_.clear();
            table_.assign(table_.size(), 0);
        }
        std::size_t find(Key key) const {
            if (table_.empty()) return NOT_FOUND;
            for (std::size_t place = key & mask();; place = (place + 1) & mask()) {
                if (!table_[place]) return NOT_FOUND;
                if (entries_[table_[place] - 1].key == key) return table_[place] - 1;
            }
        }
        CachedEvaluation at(std::size_t index) const {
            const Entry& entry = entries_[index];
            const float* const first = numbers_.data() + entry.first;
            return {.priors = {first + 3, entry.moves}, .wdl = first};
        }
        void add(Key key, std::span<const float> priors, const float* wdl) {
            if (2 * (entries_.size() + 1) > table_.size()) grow();
            const std::size_t first = numbers_.size();
            numbers_.resize(first + 3 + priors.size());
            std::copy(wdl, wdl + 3, numbers_.begin() + static_cast<std::ptrdiff_t>(first));
            std::copy(priors.begin(), priors.end(), numbers_.begin() + static_cast<std::ptrdiff_t>(first + 3));
            entries_.push_back({key, first, priors.size()});
            link(entries_.size());
        }

    private:
        struct Entry {
            Key key;
            std::size_t first;  // of `numbers_`: win, draw, loss, then the priors
            std::size_t moves;
        };
        std::size_t mask() const { return table_.size() - 1; }
        void link(std::size_t number) {
            std::size_t place = entries_[number - 1].key & mask();
            while (table_[place]) place = (place + 1) & mask();
            table_[place] = static_cast<std::uint32_t>(number);
        }
        void grow() {
            table_.assign(std::max<std::size_t>(64, 2 * table_.size()), 0);
            for (std::size_t number = 1; number <= entries_.size(); ++number) link(number);
        }

        std::vector<Entry> entries_;
        std::vector<float> numbers_;
        std::vector<std::uint32_t> table_;  // 1 + the index of an entry, or 0; a power of two, at most half full
    };

    Generation present_, previous_;
};

}  // namespace selfmate
