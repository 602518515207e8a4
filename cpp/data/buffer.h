// The window of games that the learner samples from. Training targets are made only here.
#pragma once

#include <deque>
#include <vector>

#include "data/encoders.h"
#include "data/record.h"
#include "util/random.h"
#include "util/threads.h"

namespace selfmate {

// Inputs and targets of `size` positions, by array.
struct SampleBatch {
    std::vector<Bitboard> bits;               // [size, bitboards] of the encoding
    std::vector<float> scalars;               // [size, scalars]
    std::vector<std::uint16_t> policy_index;  // [size, max_moves], padded with 0
    std::vector<float> policy_weight;         // [size, max_moves], each row sums to 1
    std::vector<std::uint16_t> legal_index;   // [size, max_moves] all legal moves, padded with 0
    std::vector<std::uint16_t> legal_counts;  // [size]
    std::vector<float> wdl;                   // [size, 3] result for the side to move: one-hot, or a judgement
    std::vector<float> value_weight;          // [size] 1, or 0 if the game has neither result nor judgement
    std::vector<float> plies;                 // [size] plies to the end of the game
    std::vector<float> played;                // [size] plies from the start of the game
    std::vector<float> material;        // [size] own minus other pieces, of the side to move (P 1, N 3, B 3, R 5, Q 9)
    std::vector<float> final_material;  // [size] the same for that side at the end of the game; 0 unless asked for
    std::vector<float> root_value;      // [size] of the search, for the side to move
    std::vector<float> root_draw;       // [size] share of draws in the search, at most 1 - |root_value|
    std::vector<std::uint16_t>
        reply_index;                      // [size] of the move played after this one, on the board as it is seen here
    std::vector<float> reply_weight;      // [size] 1, or 0 without a reply, or unless asked for
    std::vector<float> value_ahead;       // [size, HORIZONS] see `AHEAD`; 0 unless asked for
    std::vector<float> ahead_weight;      // [size] 1, or 0 if nothing after this position has a value
    std::vector<std::uint64_t> game_ids;  // [size]
    std::size_t size = 0;
};

// Mean distances, in plies, of the values ahead: with horizon h and q = 1 - 1 / h, the value of the search d plies later
// counts q^(d - 1) / h, and the result, n plies away, q^(n - 1), divided by the sum of all weights (after KataGo's
// short-term values). All values are for the side to move here.
constexpr float AHEAD[] = {6, 16};
constexpr std::size_t HORIZONS = 2;

// What is needed of a game beyond a sampled position, each at a cost.
struct Lookahead {
    bool endings = false;  // replay the game to its end, for `final_material`
    bool futures = false;  // the reply and the values ahead
};

// Owns the newest games, oldest first. Not thread-safe; `sample` uses threads inside.
class Buffer {
public:
    // `encoding`: of the samples, the variant's own by default.
    Buffer(const Variant& variant, std::size_t capacity, int threads, const Encoding* encoding = nullptr);

    // Appends a game; drops the oldest games as long as the others have at least `capacity` positions.
    void add(GameRecord record);
    // Drops the oldest games, as long as their ids are below `id`.
    void forget_before(std::uint64_t id);
    // Samples positions uniformly, with replacement; a function of `seed` and the games. `mirror`: exchange left and
    // right in half of the positions without castling rights.
    SampleBatch sample(std::size_t size, std::uint64_t seed, bool mirror, Lookahead lookahead = {});
    // The same for given positions of the window, numbered from 0, the oldest, to positions() - 1.
    SampleBatch sample_at(const std::vector<std::uint64_t>& drawn, std::uint64_t seed, bool mirror,
                          Lookahead lookahead);

    std::size_t positions() const { return positions_; }
    std::size_t games() const { return games_.size(); }
    const Encoding& encoding() const { return encoding_; }
    const std::deque<GameRecord>& records() const { return games_; }

private:
    SampleBatch prepare(std::size_t size);
    // `random` has made the draw of the position, if it was drawn here.
    void sample_row(SampleBatch& batch, std::size_t row, std::size_t drawn, Random& random, bool mirror_allowed,
                    Lookahead lookahead) const;

    const Variant* variant_;
    Encoding encoding_;
    std::size_t capacity_;
    std::size_t positions_ = 0;
    std::deque<GameRecord> games_;
    std::vector<std::size_t> ends_;  // cumulative number of positions, by game; rebuilt after `add`
    bool changed_ = false;
    Threads threads_;
};

}  // namespace selfmate
