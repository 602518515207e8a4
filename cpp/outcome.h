// How a game ends, and why.
#pragma once

#include "bitboard.h"

namespace selfmate {

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
};

enum class Winner : std::uint8_t { WHITE, BLACK, NOBODY };

constexpr Winner winner(Color color) { return color == WHITE ? Winner::WHITE : Winner::BLACK; }

struct Outcome {
    Termination termination;
    Winner winner;
    bool operator==(const Outcome&) const = default;
};

}  // namespace selfmate
