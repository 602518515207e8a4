// Many games at once, as one batch machine: `gather` collects the leaves that games need evaluated, `apply` brings the
// evaluator's answers back, and games go on by themselves to their next leaves: the search is done, a move is played and
// recorded, the game ends, the next begins.
//
// A game is a function of (seed, id, evaluators) alone. Each game names a seat for each colour: who sits there has a
// search and an evaluator, plays any move, or is asked from outside (an engine in a process of its own). So self-play,
// the gate, the arena, populations and matches against engines are the same machine, and the leaves of all seats
// with the same evaluator go in one batch.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "data/record.h"
#include "search/leaf_batch.h"
#include "util/threads.h"

namespace selfmate {

struct PoolConfig {
    const Variant* variant = nullptr;
    bool chess960 = false;
    std::uint64_t seed = 0;
    // Playout-cap randomisation (KataGo): a share of the moves is searched fully and trained on, the others
    // are searched quickly and only played.
    std::uint32_t fast_visits = 16;
    double full_probability = 1;
    std::uint32_t random_plies = 0;  // a game begins with 0 to so many random moves
    double temperature = 0;          // for the first `temperature_plies` moves of the game
    std::uint32_t temperature_plies = 0;
    std::uint32_t max_plies = 512;  // then the game is cut off, without a result
    ScoreRules rules{};             // ends by score: none unless asked for
    // A game begins at most so many ids ahead of the oldest one that is not over (0: whenever there is room), for
    // who looks at games in their order and would wait for it.
    std::uint64_t ahead = 0;
    // Lanes share the games evenly, as cores do. Or a gather takes all that it has room for, and waits for more while
    // other batches are on their way: for a device that computes a small batch no faster than a large one.
    bool greedy = false;
};

// Who plays: how it searches and who evaluates for it, or that it does not search.
struct Seat {
    SearchConfig search;
    std::uint32_t visits = 64;  // none: any legal move
    std::uint8_t evaluator = 0;
    bool outside = false;  // somebody else brings the moves
    bool at_random() const { return !visits && !outside; }
};

// A game to play: its id, the position it begins with (the variant's, if empty) and who plays.
struct Fixture {
    std::uint64_t id;
    std::string start_fen;
    std::uint8_t white_seat = 0, black_seat = 0;
};

// A game whose next move comes from outside.
struct Awaited {
    std::size_t slot;
    std::uint64_t id;
    std::string start_fen;
    std::vector<Move> moves;
};

// Every function may be called by any thread at any time; one of them works, the others wait.
class Pool {
public:
    static constexpr std::size_t MAX_SEATS = 256;

    // The seats are known by their numbers. `lanes`: batches that are on their way at the same time. `batch`: leaves
    // that a gather gives at most; 0: those of all games, shared by the lanes.
    Pool(const PoolConfig& config, std::vector<Seat> seats, std::size_t slots, std::size_t lanes, int threads,
         std::size_t leaves_per_slot, std::size_t batch = 0);

    // Throws for a seat or a position that does not exist, and adds nothing then.
    void add(std::vector<Fixture> fixtures);
    // Games that were in flight elsewhere go on where they stopped, before any other.
    void resume(std::vector<GameRecord> games);

    // Collects leaves that wait for an evaluator. `place` hears how many rows there are and how many moves the longest
    // has, and says where they are written; no row, no ticket (0) and no question.
    using Place = std::function<LeafRows(std::size_t rows, std::size_t most_moves)>;
    std::uint64_t gather(std::uint8_t evaluator, const Place& place);
    LeafBatch gather(std::uint8_t evaluator);
    // priors: [size, stride], of which each row's first counts[i] matter; wdl: [size, 3]. Throws for a ticket
    // that is not open or a size that is not the ticket's.
    void apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl);

    // The same with an evaluator of our own.
    void apply(std::uint64_t ticket, NativeEvaluator evaluator);

    // Plays everything to the end with an evaluator of our own; nobody may sit outside.
    void run(NativeEvaluator evaluator);

    // Games that wait for a move from outside, each once for each move; waits for one for so many seconds.
    std::vector<Awaited> awaiting(double seconds);
    // That move, and what its player says of the position; throws IllegalMove, and the game waits on.
    void play(std::size_t slot, Move move, Score score = std::nullopt);
    // The end of such a game by a referee; none: it has no result.
    void forfeit(std::size_t slot, std::optional<Winner> winner, const std::string& reason);

    // Whether no gather would give anything before answers come, or something from outside.
    bool idle() const;
    // Counts what may give an idle lane work or tell it that all is done: answers, moves from outside, games that end
    // or are added. `wait` returns when it is not `seen` any more, or after so many seconds.
    std::uint64_t news() const;
    void wait(std::uint64_t seen, double seconds) const;

    bool done() const;
    std::vector<GameRecord> drain();            // finished games, by id
    std::vector<GameRecord> in_flight() const;  // the others, with the moves so far
    const Encoding& encoding() const { return encoding_; }
    std::size_t evaluators() const;  // that seats ask, by number: so many must be there
    std::size_t lanes() const { return lanes_; }
    std::size_t lane_rows() const {
        return config_.greedy ? batch_ : std::min(batch_, (slots_.size() + lanes_ - 1) / lanes_ * leaves_per_slot_);
    }
    std::vector<std::size_t> waiting() const;  // games for each evaluator, without those on their way
    std::uint64_t playouts() const;
    std::uint64_t plies() const;  // moves that were searched for
    std::size_t finished() const;

private:
    struct Slot {
        bool playing = false;
        bool full = false;
        bool awaited = false;    // the next move comes from outside
        bool announced = false;  // and somebody knows
        Fixture fixture;
        State state;
        std::vector<Key> keys;  // of the positions before this one
        GameRecord record;
        Search search;
        std::vector<std::uint32_t> staged;      // leaves that wait for their evaluator
        std::uint64_t playouts = 0, plies = 0;  // of all its games
        bool finished = false;
    };
    static constexpr std::int16_t NOBODY = -1, ANYBODY = -2;
    // What a gather must know of all slots, side by side: the slots themselves are far apart.
    struct Staged {
        std::uint32_t first_row = 0;
        std::uint16_t leaves = 0, most_moves = 0;  // none: the game must walk to them, unless nobody is wanted
        std::int16_t wants = NOBODY;               // the evaluator that the game needs next
        bool vacant = true;                        // has room for a game, or a game that is over
        bool over = false;                         // the latter
        bool out = false;                          // its leaves are on their way
    };
    struct Row {
        std::uint32_t slot, leaf;
    };
    struct Ticket {
        std::uint64_t id;
        std::vector<Row> rows;
    };

    void begin_game(Slot& slot, Fixture fixture);
    void take_up(Slot& slot, GameRecord record);
    void begin_search(Slot& slot);
    void finish_search(Slot& slot);
    void play(Slot& slot, Move move, Score score);
    std::optional<Outcome> outcome(const Slot& slot) const;
    void go_on(Slot& slot);
    Slot& awaited_slot(std::size_t slot);
    void tell_news();
    bool is_done() const;
    const Seat& seat(const Slot& slot) const {
        return seats_[slot.state.turn == WHITE ? slot.fixture.white_seat : slot.fixture.black_seat];
    }
    std::vector<Row> close(std::uint64_t ticket);
    void each_slot(const std::vector<Row>& rows, const std::function<void(Search&, std::size_t row)>& work);
    void walk(std::size_t index);
    void walk_new();
    std::uint64_t next_id_limit() const;
    bool may_begin(std::uint64_t id_limit) const;
    void refill();
    std::size_t most_rows() const;
    bool enough(std::size_t leaves) const;
    void retire(Slot& slot);
    void note(std::size_t index);

    PoolConfig config_;
    std::vector<Seat> seats_;
    bool has_outside_;
    Encoding encoding_;
    std::size_t lanes_;
    std::size_t leaves_per_slot_;
    std::size_t batch_;
    std::vector<Slot> slots_;
    std::vector<Staged> staged_;       // of each slot
    std::size_t next_ = 0;             // where the next gather begins
    std::vector<std::uint32_t> turn_;  // slots of this gather
    std::vector<Fixture> waiting_;     // the next one last
    std::vector<GameRecord> begun_;    // games to take up, the next one last
    std::vector<Ticket> tickets_;
    std::uint64_t next_ticket_ = 1;
    std::vector<GameRecord> finished_;
    std::unique_ptr<Threads> threads_;
    mutable std::mutex mutex_;  // around everything
    mutable std::condition_variable changed_;
    std::uint64_t news_ = 0;
};

}  // namespace selfmate
