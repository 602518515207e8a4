// The table of positions that alpha-beta has searched: buckets of four, whose entry of least depth is replaced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "board/state.h"

namespace selfmate {

class TranspositionTable {
public:
    enum class Bound : std::uint8_t { NONE, EXACT, LOWER, UPPER };

    struct Entry {
        Key key = 0;
        std::int32_t score = 0;
        std::uint16_t move = 0;
        std::int8_t depth = 0;
        Bound bound = Bound::NONE;
    };

    // `size`: entries, a power of 2 from 4 on.
    explicit TranspositionTable(std::size_t size) : entries_(size) {}

    // Returns an entry without bound and move for a position that is not in the table.
    Entry find(Key key) const {
        const Entry* const bucket = &entries_[first_of(key)];
        for (int i = 0; i < 4; ++i)
            if (bucket[i].key == key) return bucket[i];
        return {};
    }

    void store(Key key, int score, std::uint16_t move, int depth, Bound bound) {
        Entry* const bucket = &entries_[first_of(key)];
        Entry* entry = bucket;
        for (int i = 0; i < 4; ++i) {
            if (bucket[i].key == key) {
                entry = &bucket[i];
                break;
            }
            if (bucket[i].depth < entry->depth) entry = &bucket[i];
        }
        *entry = {.key = key,
                  .score = score,
                  .move = move,
                  .depth = static_cast<std::int8_t>(std::clamp(depth, 0, 127)),
                  .bound = bound};
    }

private:
    std::size_t first_of(Key key) const { return key & (entries_.size() - 4); }

    std::vector<Entry> entries_;
};

}  // namespace selfmate
