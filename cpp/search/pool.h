// Many games at once for a batched evaluator: `gather` collects leaves of many games into one batch, `apply` writes the
// evaluations back and lets the games advance to their next leaves. A finished search plays and records its move; a
// finished game is replaced by the next one.
//
// A game is a function of (seed, id, evaluators) alone, whatever the number of slots, lanes and threads. Each game
// names a seat for each colour: a search with an evaluator, a player of random moves, or an external player (an engine
// in another process). Self-play, the gate, the arena, populations and matches against engines all use this class, and
// the leaves of all seats with the same evaluator share batches.
//
//     pool_games.cpp    one game: start, search, move, end
//     pool_batches.cpp  batches over all games: select leaves, gather, apply
//     pool.cpp          queues, slots, external moves, state
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "data/record.h"
#include "search/game_evaluation_cache.h"
#include "search/leaf_batch.h"
#include "util/threads.h"

namespace selfmate {

struct PoolConfig {
    const Variant* variant = nullptr;
    bool chess960 = false;
    std::uint64_t seed = 0;
    SelfPlayConfig selfplay = SelfPlayConfig::of_match();  // a full search has the visits of the seat
    ScoreRules score_rules{};                              // adjudication by score; off by default
    // A game begins only if its id is less than `max_id_lead` above the smallest id that is not finished (0: no limit).
    // For consumers that process games in the order of their ids.
    std::uint64_t max_id_lead = 0;
    // false: a batch has an equal share of the games for each lane (for evaluators on CPU cores). true: a batch takes
    // all leaves that fit, and a partial batch waits while MAX_PARTIAL_BATCHES others are open (for a device that takes
    // as long for a small batch as for a large one).
    bool greedy = false;
    // A leaf that an evaluator has evaluated in the same search or in its search before is not sent to it again.
    bool cache = true;

    std::size_t slots = 64;           // games that are played at the same time
    std::size_t lanes = 1;            // batches that callers keep open at the same time
    int threads = 1;                  // threads of the pool itself
    std::size_t leaves_per_slot = 1;  // leaves of one game in one batch, at most
    std::size_t batch = 0;            // leaves of a batch, at most; 0: slots * leaves_per_slot
};

// A player: a search with an evaluator, random moves, or external moves.
struct Seat {
    SearchConfig search{};
    std::uint32_t visits = 64;   // per full search; 0: random legal moves
    std::uint8_t evaluator = 0;  // number of the evaluator that `gather` is called with
    bool external = false;       // moves come from `Pool::play`
    Encoding encoding{};         // of the evaluator; default: the variant's own
    bool plays_random_moves() const { return !visits && !external; }
};

// A game to play. An empty `start_fen` is the variant's start position.
struct GameSpec {
    std::uint64_t id;
    std::string start_fen{};
    std::uint8_t white_seat = 0, black_seat = 0;
    bool random_opening = true;  // begins with the random plies of the config
};

// The temperature from a move of a game on; a move is one ply of each side, the first is 0.
struct TemperatureStep {
    std::uint32_t from_move;
    double temperature;
};

// A game that needs a move from an external player.
struct MoveRequest {
    std::size_t slot;
    std::uint64_t id;
    std::string start_fen;
    std::vector<Move> moves;
};

// Owns the slots, the queues and the open tickets. Thread-safe: one mutex is held during every call.
class Pool {
public:
    static constexpr std::size_t MAX_SEATS = 256;

    Pool(const PoolConfig& config, std::vector<Seat> seats);

    // Queues games. Throws for an unknown seat or an invalid position; then no game is queued.
    void add(std::vector<GameSpec> games);
    // Queues games that another pool has not finished, before all other games.
    void resume(std::vector<GameRecord> games);
    // Changes the searches and the self-play of seat 0 from the next search of each game on, and lets no later search
    // use evaluations from before: for an evaluator that has got a new net.
    void configure(const SearchConfig& search, const SelfPlayConfig& selfplay);
    // Replaces `temperature` and `temperature_plies` of the config by steps, in rising order; none: as in the config.
    void set_temperature_by_move(std::vector<TemperatureStep> steps);

    // Collects leaves for an evaluator into one batch. `allocate` is called once with the number of rows and the
    // largest number of moves of a row, and returns the memory to write to. Returns the ticket; 0, without a call of
    // `allocate`, if there is no batch now.
    using AllocateRows = std::function<LeafRows(std::size_t rows, std::size_t max_moves)>;
    std::uint64_t gather(std::uint8_t evaluator, const AllocateRows& allocate);
    LeafBatch gather(std::uint8_t evaluator);
    // The seconds for which the last `gather` or `apply` of this thread waited for calls of other threads.
    static double seconds_waited();
    // Applies the evaluations of a batch. priors: [size, stride], of which the first counts[i] of row i are used;
    // wdl: [size, 3]. Throws for a ticket that is not open or has another size.
    void apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl);
    void apply(std::uint64_t ticket, NativeEvaluator evaluator);

    // Plays all games to their end with a native evaluator. Throws if a seat is external.
    void run(NativeEvaluator evaluator);

    // Returns games that need an external move, each once per move; blocks up to `seconds` until there is one.
    std::vector<MoveRequest> take_move_requests(double seconds);
    // Plays an external move with the player's score of the position. Throws IllegalMove, and the game still needs its
    // move.
    void play(std::size_t slot, Move move, Score score = std::nullopt);
    // Ends a game that needs an external move, as a referee. No winner: no result.
    void forfeit(std::size_t slot, std::optional<Winner> winner, const std::string& reason);

    // Whether `gather` returns no batch until the next event.
    bool idle() const;
    // The number of events so far: evaluations applied, external moves, games finished or added. `wait_for_event`
    // blocks until it differs from `seen`, at most for `seconds`.
    std::uint64_t event_count() const;
    void wait_for_event(std::uint64_t seen, double seconds) const;

    bool done() const;                // no game is queued or unfinished
    std::vector<GameRecord> drain();  // removes and returns finished games, by id
    // Games that are not over, with the moves so far, by id; `most`: only those with the smallest ids.
    std::vector<GameRecord> unfinished_games(std::size_t most = SIZE_MAX) const;
    std::vector<std::size_t> games_to_evaluate() const;  // per evaluator: games whose next leaves are in no batch
    const Encoding& encoding() const { return encoding_; }
    const Encoding& encoding(std::uint8_t evaluator) const;  // of the seats with this evaluator
    std::size_t evaluators() const;                          // 1 + the largest evaluator number of a seat with visits
    std::size_t lane_rows() const {                          // rows of a batch, at most
        return config_.greedy
                   ? batch_
                   : std::min(batch_, (slots_.size() + config_.lanes - 1) / config_.lanes * config_.leaves_per_slot);
    }
    std::uint64_t playouts() const;        // of all finished searches
    std::uint64_t searched_plies() const;  // moves that a search has chosen
    std::size_t finished_games() const;    // not drained yet

private:
    // One running game. A slot belongs to at most one ticket and is advanced by one thread at a time.
    struct Slot {
        bool playing = false;
        bool finished = false;             // the record is complete and not retired yet
        bool full_search = false;          // playout-cap randomisation: train on this position
        bool policy_move = false;          // the move is drawn from the policy of a search without visits
        bool judging = false;              // the game is truncated, and its last position is searched
        bool needs_external_move = false;  // the next move comes from `play`
        bool request_taken = false;        // `take_move_requests` has returned it
        bool has_tree = false;             // `search` has the tree of this game's last position, for the next one
        GameSpec game;
        State state;
        std::vector<Key> keys;    // of the positions before `state`
        std::vector<State> past;  // the last of them, where an encoder sees them
        GameRecord record;
        Search search;
        std::vector<std::uint32_t> leaves;               // ids of leaves in flight in `search`
        std::vector<bool> cached;                        // of each leaf: its evaluation is in the cache
        GameEvaluationCache caches[2];                   // by colour; players with one evaluator share the first
        std::uint64_t cache_epoch = 0;                   // the pool's `epoch_` at the last search
        std::uint64_t playouts = 0, searched_plies = 0;  // over all games of the slot
    };
    // The part of a slot that every gather reads, in one compact array: slots are large and far apart in memory.
    struct SlotSummary {
        std::uint32_t first_row = 0;  // in the batch that is being gathered
        // Leaves for the next batch, those in the cache left out, and the largest number of moves of one of them. 0
        // leaves and `evaluator` not NOT_SEARCHING: `select_leaves` must be called.
        std::uint16_t leaves = 0, max_moves = 0;
        std::int16_t evaluator = NOT_SEARCHING;  // of the side to move, or one of the constants below
        bool vacant = true;                      // has no game, or a finished one
        bool finished = false;                   // has a finished game
        bool in_batch = false;                   // its leaves belong to an open ticket
    };
    static constexpr std::int16_t NOT_SEARCHING = -1;  // vacant, or needs an external move
    static constexpr std::int16_t RANDOM_MOVE = -2;    // needs no evaluator
    struct BatchRow {
        std::uint32_t slot, leaf;
    };
    struct Ticket {
        std::uint64_t id;
        std::vector<BatchRow> rows;  // rows of one slot are contiguous
    };

    // One game (pool_games.cpp).
    void begin_game(Slot& slot, GameSpec game);
    void resume_game(Slot& slot, GameRecord record);
    void begin_search(Slot& slot);
    void finish_search(Slot& slot);
    void record_search(Slot& slot);
    void make_move(Slot& slot, Move move, Score score);
    void end_or_continue(Slot& slot);
    void resign_or_play_on(Slot& slot, Color moved);
    void finish_judging(Slot& slot);
    bool is_policy_move(const Slot& slot) const;
    double temperature_at(std::uint64_t ply) const;
    std::optional<Outcome> outcome(const Slot& slot) const;
    const Seat& mover(const Slot& slot) const {
        return seats_[slot.state.turn == WHITE ? slot.game.white_seat : slot.game.black_seat];
    }
    // Whether the searches of a game begin with the tree of the search before: both colours are one player.
    bool reuses_trees(std::uint8_t white_seat, std::uint8_t black_seat) const {
        return white_seat == black_seat && seats_[white_seat].search.reuse;
    }
    GameEvaluationCache& cache(Slot& slot) const {
        const bool shared = seats_[slot.game.white_seat].evaluator == seats_[slot.game.black_seat].evaluator;
        return slot.caches[shared || slot.state.turn == WHITE ? 0 : 1];
    }

    // Queues, slots and external moves (pool.cpp).
    std::uint64_t next_id_limit() const;
    bool may_begin_game(std::uint64_t id_limit) const;
    void refill_slots();
    void retire(Slot& slot);
    void update_summary(std::size_t index);
    Slot& requested_slot(std::size_t slot);
    void count_event();
    bool is_done() const;

    // Batches over all games (pool_batches.cpp).
    void select_leaves(std::size_t index);
    void select_leaves_of_new_games();
    std::size_t max_rows_now() const;
    bool is_batch_due(std::size_t leaves) const;
    std::vector<Ticket>::iterator find_ticket(std::uint64_t id);
    std::vector<BatchRow> close_ticket(std::uint64_t id);
    void apply_cached(Slot& slot, std::size_t leaf);
    void for_each_slot(const std::vector<BatchRow>& rows, const std::function<void(Slot&, std::size_t row)>& work);

    PoolConfig config_;
    std::vector<Seat> seats_;
    std::vector<TemperatureStep> temperature_steps_;
    std::uint64_t epoch_ = 0;    // calls of `configure` so far
    Encoding encoding_;          // the variant's own
    std::size_t seen_past_ = 0;  // positions before the present one that an encoder sees, at most
    std::size_t batch_;          // rows of a batch, at most
    std::vector<Slot> slots_;
    std::vector<SlotSummary> summaries_;     // [slots]
    std::size_t next_slot_ = 0;              // round robin: where the next gather begins
    std::vector<std::uint32_t> work_slots_;  // scratch: the slots of the present parallel loop
    std::vector<GameSpec> game_queue_;       // the next one last
    std::vector<GameRecord> resume_queue_;   // the next one last
    std::vector<Ticket> tickets_;
    std::uint64_t next_ticket_ = 1;
    std::vector<GameRecord> finished_;
    std::unique_ptr<Threads> threads_;
    mutable std::mutex mutex_;  // protects everything above
    mutable std::condition_variable event_;
    std::uint64_t event_count_ = 0;
};

}  // namespace selfmate
