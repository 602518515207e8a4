// Gardner's minichess: 5x5 squares, without double steps and castling.
#pragma once

#include "board/rules/chess.h"

namespace selfmate {

struct Gardner : Chess {
    static constexpr std::string_view NAME = "gardner";
    static constexpr std::string_view START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1";
    static constexpr int FILES = 5, RANKS = 5;
    static constexpr bool DOUBLE_STEP = false;
    static constexpr bool CASTLING = false;
    static constexpr bool SHUFFLED = false;
    static constexpr int MAX_PIECES[2] = {10, 10};
    static constexpr Bitboard pawn_squares(Color) { return ~(rank_mask(0) | rank_mask(4)); }
};

}  // namespace selfmate
