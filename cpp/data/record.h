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
    std::vector<Score> scores;  // of each move; not written to bytes, so empty after `read_record`
};

// Little-endian bytes that begin with the version; games between different seats have a version of their own. Reading
// replays the game and throws RecordError for invalid bytes.
std::string write_record(const GameRecord& record);
GameRecord read_record(std::string_view bytes);

}  // namespace selfmate
