// The stored form of a game: its moves, and the search result of each trained position by move. Inputs are not stored,
// so that any encoder can read old games.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "board/position.h"
#include "data/adjudicate.h"

namespace selfmate {

// The search result of one move.
struct Target {
    Move move;
    std::uint32_t visits;
    float weight;  // in the improved policy; the weights of a position sum to about 1
};

struct TrainedPosition {
    std::uint16_t ply;
    float value;      // expected by the improved policy after the search, for the side to move, -1 to 1
    float draw;       // share of draws expected with it, at most 1 - |value|
    float net_value;  // of the evaluator, for the side to move
    std::vector<Target> targets;
};

// The value of the last position of a truncated game by a judge, for White.
struct Judgement {
    float value;  // -1 to 1
    float draw;   // share of draws, at most 1 - |value|
    bool operator==(const Judgement&) const = default;
};

// Where a side met the rule of resignation first, after its move number `ply` of the game.
struct Resignation {
    std::uint16_t ply;
    Color side;
};

struct GameRecord {
    std::uint64_t id = 0;
    const Variant* variant = nullptr;
    bool chess960 = false;
    std::string start_fen;                        // the position before the first of `moves`
    std::uint16_t random_plies = 0;               // the first of `moves`, which were drawn at random
    std::uint8_t white_seat = 0, black_seat = 0;  // numbers of the players; equal in self-play
    std::vector<Move> moves;
    std::optional<Outcome> outcome;  // none: the game was truncated, or is not over
    std::string referee_reason;      // why a referee or an adjudication ended the game; empty otherwise
    std::vector<TrainedPosition> positions;
    std::vector<Score> scores;             // of each move; empty after `read_record`, unless `with_scores`
    bool with_scores = false;              // an unfinished game whose scores decide later moves: write them to bytes
    std::optional<Judgement> judgement{};  // none: the game has an outcome, or there is no judge
    std::optional<Resignation> resignation{};  // the game ended there, or was played out to measure the rule
};

// Little-endian bytes that begin with the version; a game with a judgement, a resignation or scores has a version of
// its own. Reading replays the game and throws RecordError for invalid bytes. Values are rounded once: what was written
// here is read and written again as the same bytes.
std::string write_record(const GameRecord& record);
GameRecord read_record(std::string_view bytes);

}  // namespace selfmate
