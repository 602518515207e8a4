// How a game ends, and why.
#pragma once

#include "board/bitboard.h"

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
    ADJUDICATED,  // by a referee; the rules never say so
};

struct Reason {
    Termination termination;
    const char* name;
    const char* phrase;
};
inline constexpr Reason REASONS[] = {
    {Termination::CHECKMATE, "CHECKMATE", "checkmate"},
    {Termination::STALEMATE, "STALEMATE", "stalemate"},
    {Termination::INSUFFICIENT_MATERIAL, "INSUFFICIENT_MATERIAL", "insufficient material"},
    {Termination::SEVENTYFIVE_MOVES, "SEVENTYFIVE_MOVES", "75 moves without progress"},
    {Termination::FIVEFOLD_REPETITION, "FIVEFOLD_REPETITION", "fivefold repetition"},
    {Termination::FIFTY_MOVES, "FIFTY_MOVES", "50 moves without progress"},
    {Termination::THREEFOLD_REPETITION, "THREEFOLD_REPETITION", "threefold repetition"},
    {Termination::KING_EXPLODED, "KING_EXPLODED", "king exploded"},
    {Termination::KING_ON_HILL, "KING_ON_HILL", "king on the hill"},
    {Termination::THREE_CHECKS, "THREE_CHECKS", "three checks"},
    {Termination::RACE_WON, "RACE_WON", "race won"},
    {Termination::RACE_DRAWN, "RACE_DRAWN", "race drawn"},
    {Termination::NO_PIECES_LEFT, "NO_PIECES_LEFT", "no pieces left"},
    {Termination::NO_MOVES_LEFT, "NO_MOVES_LEFT", "no moves left"},
    {Termination::HORDE_DESTROYED, "HORDE_DESTROYED", "horde destroyed"},
    {Termination::ADJUDICATED, "ADJUDICATED", "adjudicated"},
};

constexpr const char* phrase(Termination termination) { return REASONS[static_cast<std::size_t>(termination)].phrase; }

enum class Winner : std::uint8_t { WHITE, BLACK, NOBODY };

constexpr Winner winner(Color color) { return color == WHITE ? Winner::WHITE : Winner::BLACK; }

struct Outcome {
    Termination termination;
    Winner winner;
    bool operator==(const Outcome&) const = default;
};

}  // namespace selfmate
