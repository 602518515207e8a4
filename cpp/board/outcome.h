// Results of games and their reasons.
#pragma once

#include "board/bitboard.h"

namespace selfmate {

// Game records store the number: a new one goes to the end, here and in REASONS.
enum class Termination : std::uint8_t {
    CHECKMATE,
    STALEMATE,
    INSUFFICIENT_MATERIAL,
    SEVENTYFIVE_MOVES,
    FIVEFOLD_REPETITION,
    FIFTY_MOVES,
    THREEFOLD_REPETITION,
    KING_EXPLODED,
    KING_ON_HILL,
    THREE_CHECKS,
    RACE_WON,
    RACE_DRAWN,
    NO_PIECES_LEFT,
    NO_MOVES_LEFT,
    HORDE_DESTROYED,
    ADJUDICATED,  // by a referee or by score, not by the rules
};

struct Reason {
    Termination termination;
    const char* name;
    const char* phrase;
};
inline constexpr Reason REASONS[] = {
    {.termination = Termination::CHECKMATE, .name = "CHECKMATE", .phrase = "checkmate"},
    {.termination = Termination::STALEMATE, .name = "STALEMATE", .phrase = "stalemate"},
    {.termination = Termination::INSUFFICIENT_MATERIAL,
     .name = "INSUFFICIENT_MATERIAL",
     .phrase = "insufficient material"},
    {.termination = Termination::SEVENTYFIVE_MOVES, .name = "SEVENTYFIVE_MOVES", .phrase = "seventy-five-move rule"},
    {.termination = Termination::FIVEFOLD_REPETITION, .name = "FIVEFOLD_REPETITION", .phrase = "fivefold repetition"},
    {.termination = Termination::FIFTY_MOVES, .name = "FIFTY_MOVES", .phrase = "fifty-move rule"},
    {.termination = Termination::THREEFOLD_REPETITION,
     .name = "THREEFOLD_REPETITION",
     .phrase = "threefold repetition"},
    {.termination = Termination::KING_EXPLODED, .name = "KING_EXPLODED", .phrase = "king exploded"},
    {.termination = Termination::KING_ON_HILL, .name = "KING_ON_HILL", .phrase = "king on the hill"},
    {.termination = Termination::THREE_CHECKS, .name = "THREE_CHECKS", .phrase = "three checks"},
    {.termination = Termination::RACE_WON, .name = "RACE_WON", .phrase = "race won"},
    {.termination = Termination::RACE_DRAWN, .name = "RACE_DRAWN", .phrase = "race drawn"},
    {.termination = Termination::NO_PIECES_LEFT, .name = "NO_PIECES_LEFT", .phrase = "no pieces left"},
    {.termination = Termination::NO_MOVES_LEFT, .name = "NO_MOVES_LEFT", .phrase = "no moves left"},
    {.termination = Termination::HORDE_DESTROYED, .name = "HORDE_DESTROYED", .phrase = "horde destroyed"},
    {.termination = Termination::ADJUDICATED, .name = "ADJUDICATED", .phrase = "adjudicated"},
};

constexpr const char* phrase(Termination termination) { return REASONS[static_cast<std::size_t>(termination)].phrase; }

enum class Winner : std::uint8_t { WHITE, BLACK, NONE };  // NONE: a draw

constexpr Winner winner(Color color) { return color == WHITE ? Winner::WHITE : Winner::BLACK; }

struct Outcome {
    Termination termination;
    Winner winner;
    bool operator==(const Outcome&) const = default;
};

}  // namespace selfmate
