// Many games at once, as one batch machine: `gather` walks every game of a lane to the leaves it needs, `apply`
// brings the evaluator's answers back, and games go on by themselves: the search is done, a move is played and
// recorded, the game ends, the next begins.
//
// A game is a function of (seed, id, evaluator) alone. Each game names one evaluator for each colour, so that
// self-play, the gate and the arena are the same machine.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "leaves.h"
#include "record.h"
#include "threads.h"

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
};

// Who plays: how it searches, or that it does not.
struct PlayerConfig {
    SearchConfig search;
    std::uint32_t visits = 64;
    bool at_random = false;  // any legal move
};

// A game to play: its id, the position it begins with (the variant's, if empty) and who plays White.
struct Fixture {
    std::uint64_t id;
    std::string start_fen;
    std::uint8_t white_evaluator = 0, black_evaluator = 0;
};

class Pool {
public:
    // One player for each evaluator, by number.
    Pool(const PoolConfig& config, std::vector<PlayerConfig> players, std::size_t slots, std::size_t lanes, int threads,
         std::size_t leaves_per_slot);

    void add(std::vector<Fixture> fixtures);
    // Games that were in flight elsewhere go on where they stopped, before any other.
    void resume(std::vector<GameRecord> games);

    // Walks the games of a lane to the leaves that they need. `place` hears how many rows there are and how many
    // moves the longest has, and says where they are written; no row, no ticket (0) and no question.
    using Place = std::function<LeafRows(std::size_t rows, std::size_t most_moves)>;
    std::uint64_t gather(std::size_t lane, std::uint8_t evaluator, const Place& place);
    LeafBatch gather(std::size_t lane, std::uint8_t evaluator);
    // priors: [size, stride], of which each row's first counts[i] matter; wdl: [size, 3]. Throws for a ticket
    // that is not open or a size that is not the ticket's.
    void apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl);

    // The same with an evaluator of our own.
    void apply(std::uint64_t ticket, NativeEvaluator evaluator);

    // Plays everything to the end with an evaluator of our own.
    void run(NativeEvaluator evaluator);

    bool done() const;
    std::vector<GameRecord> drain();            // finished games, by id
    std::vector<GameRecord> in_flight() const;  // the others, with the moves so far
    const Encoding& encoding() const { return encoding_; }
    std::size_t lanes() const { return lanes_; }
    std::size_t lane_rows() const { return (slots_.size() + lanes_ - 1) / lanes_ * leaves_per_slot_; }
    std::uint64_t playouts() const;
    std::uint64_t plies() const;  // moves that were searched for
    std::size_t finished() const;

private:
    struct Slot {
        bool playing = false;
        bool full = false;
        Fixture fixture;
        State state;
        std::vector<Key> keys;  // of the positions before this one
        GameRecord record;
        Search search;
        std::vector<std::uint32_t> staged;      // leaves of this gather
        std::uint64_t playouts = 0, plies = 0;  // of all its games
        bool finished = false;
    };
    // What a gather must know of all slots, side by side: the slots themselves are far apart.
    struct Staged {
        std::uint32_t first_row = 0;
        std::uint16_t leaves = 0, most_moves = 0;
        bool vacant = true;  // has room for a game, or a game that is over
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
    void play(Slot& slot, Move move);
    std::optional<Outcome> outcome(const Slot& slot) const;
    std::uint8_t evaluator_of(const Slot& slot) const {
        return slot.state.turn == WHITE ? slot.fixture.white_evaluator : slot.fixture.black_evaluator;
    }
    const PlayerConfig& player(const Slot& slot) const { return players_[evaluator_of(slot)]; }
    std::vector<Row> close(std::uint64_t ticket);
    void each_slot(const std::vector<Row>& rows, const std::function<void(Search&, std::size_t row)>& work);
    void walk(Slot& slot, std::uint8_t evaluator);
    void refill(std::size_t first, std::size_t last);
    void retire(Slot& slot);

    PoolConfig config_;
    std::vector<PlayerConfig> players_;
    Encoding encoding_;
    std::size_t lanes_;
    std::size_t leaves_per_slot_;
    std::vector<Slot> slots_;
    std::vector<Staged> staged_;     // of each slot
    std::vector<Fixture> waiting_;   // the next one last
    std::vector<GameRecord> begun_;  // games to take up, the next one last
    std::vector<Ticket> tickets_;
    std::uint64_t next_ticket_ = 1;
    std::vector<GameRecord> finished_;
    std::unique_ptr<Threads> threads_;
};

}  // namespace selfmate
