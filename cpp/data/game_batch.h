// Many games of one variant that are played side by side by actions (policy indices), as reinforcement learning steps
// environments: each step makes one move in every game, and a game that has ended begins again at once.
#pragma once

#include <span>
#include <vector>

#include "data/encode.h"
#include "util/threads.h"

namespace selfmate {

// Where `GameBatch` writes to; memory of the caller. N is the number of games.
struct Observations {
    float* planes;        // [N, DENSE_PLANES, ranks, files], seen by the side to move
    std::uint8_t* masks;  // [N, policy_size], 1 for legal actions
};
struct StepResults {
    float* rewards;            // [N] 1, 0 or -1 for the side that moved; 0 unless the game ended by the rules
    std::uint8_t* terminated;  // [N] whether the game ended by the rules; every draw that can be claimed is claimed
    std::uint8_t* truncated;   // [N] whether the game was ended by its length
};

struct GameBatchConfig {
    const Variant* variant = nullptr;
    bool chess960 = false;
    std::vector<State> starts;  // a game begins at one of them, drawn at random; none of them ends a game
    std::size_t games = 0;
    std::uint64_t seed = 0;
    std::uint32_t max_plies = 512;  // longer games are truncated
    int threads = 1;
};

// Owns the games. Equal seeds and actions give equal games, on any number of threads. Not thread-safe; uses threads
// inside.
class GameBatch {
public:
    explicit GameBatch(GameBatchConfig config);

    // Begins all games again; equal seeds give equal starts.
    void reset(std::uint64_t seed, const Observations& out);
    // Makes one move in each game. Throws IllegalMove, before any move is made, if an action is not legal.
    void step(std::span<const std::int64_t> actions, const Observations& out, const StepResults& results);
    // Draws a legal action for each game, uniformly.
    void random_actions(std::span<std::int64_t> out);

    std::size_t size() const { return slots_.size(); }
    const Encoding& encoding() const { return encoding_; }
    const State& state(std::size_t game) const { return slots_[game].state; }
    const GameBatchConfig& config() const { return config_; }

private:
    struct Slot {
        State state;
        std::vector<Key> keys;               // of the positions before this one
        MoveList moves;                      // legal moves
        std::vector<std::uint16_t> indices;  // their policy indices
        std::uint64_t episode = 0;           // games begun in this slot
    };

    void begin(std::size_t game);
    void list_moves(Slot& slot) const;
    void observe(std::size_t game, const Observations& out) const;
    std::size_t find(std::size_t game, std::int64_t action) const;
    void step_one(std::size_t game, Move move, const StepResults& results);

    GameBatchConfig config_;
    Encoding encoding_;
    std::vector<Slot> slots_;
    std::vector<Move> chosen_;  // of the present step
    std::uint64_t draws_ = 0;   // calls of `random_actions`
    Threads threads_;
};

}  // namespace selfmate
