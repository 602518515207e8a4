// The window of games that the learner samples from: the one place where training targets are made.
#pragma once

#include <deque>
#include <vector>

#include "data/encode.h"
#include "data/record.h"
#include "util/threads.h"

namespace selfmate {

struct SampleBatch {
    std::vector<Bitboard> bits;               // [size, BITBOARDS]
    std::vector<float> scalars;               // [size, SCALARS]
    std::vector<std::uint16_t> policy_index;  // [size, max_moves], padded with 0
    std::vector<float> policy_weight;         // [size, max_moves], each row sums to 1
    std::vector<std::uint16_t> legal_index;   // [size, max_moves] all legal moves, for the mask
    std::vector<std::uint16_t> legal_counts;  // [size]
    std::vector<float> wdl;                   // [size, 3] of the game, for the side to move
    std::vector<float> value_weight;          // [size] 0 where the game has no result
    std::vector<float> plies;                 // [size] plies to the end of the game
    std::vector<float> root_value;            // [size] what the search thought
    std::vector<std::uint64_t> game_ids;      // [size]
    std::size_t size = 0;
};

class Buffer {
public:
    Buffer(const Variant& variant, std::size_t capacity, int threads);

    // Newest last; when there are more positions than the capacity the oldest games go.
    void add(GameRecord record);
    SampleBatch sample(std::size_t size, std::uint64_t seed, bool mirror);

    std::size_t positions() const { return positions_; }
    std::size_t games() const { return games_.size(); }
    const std::deque<GameRecord>& records() const { return games_; }

private:
    const Variant* variant_;
    Encoding encoding_;
    std::size_t capacity_;
    std::size_t positions_ = 0;
    std::deque<GameRecord> games_;
    std::vector<std::size_t> ends_;  // positions up to and with each game; made anew when games have changed
    bool changed_ = false;
    Threads threads_;
};

}  // namespace selfmate
