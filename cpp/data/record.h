// A game as it is kept: its moves, and for each position that is trained on what the search found there, keyed
// by move. No planes, so that any encoder reads any old game.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "board/position.h"
#include "data/adjudicate.h"

namespace selfmate {

struct Target {
    Move move;
    std::uint32_t visits;
    float weight;  // in the improved policy
};

struct TrainedPosition {
    std::uint16_t ply;
    float value;      // of the root after the search, for the side to move
    float net_value;  // what the evaluator said of it
    std::vector<Target> targets;
};

struct GameRecord {
    std::uint64_t id = 0;
    const Variant* variant = nullptr;
    bool chess960 = false;
    std::string start_fen;                        // the position before the first of `moves`
    std::uint16_t random_plies = 0;               // moves at the beginning that nobody chose
    std::uint8_t white_seat = 0, black_seat = 0;  // who played; in self-play both are the same
    std::vector<Move> moves;
    std::optional<Outcome> outcome;  // none: the game was truncated, or is not over
    std::string ending;              // why a referee ended it; empty if none did
    std::vector<TrainedPosition> positions;
    std::vector<Score> scores;  // of each move; not kept in bytes, a game that was read has none
};

// Little-endian bytes that begin with a version; games between different seats have one of their own. Reading replays the game and throws RecordError for anything
// that is not one.
std::string write_record(const GameRecord& record);
GameRecord read_record(std::string_view bytes);

}  // namespace selfmate
