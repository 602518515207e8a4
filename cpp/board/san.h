// Reading and writing standard algebraic notation (SAN), for every variant.
#pragma once

#include "board/position.h"

namespace selfmate {

// "Nf3", "exd6", "O-O", "b8=Q#"; a move that wins by the variant's own rule is also marked #. The move must be legal.
std::string write_san(const Position& position, Move move);

// Throws InvalidSan, AmbiguousSan or IllegalSan. Also accepts 0-0, e8Q, Ng1-f3 and trailing + # ! ?.
Move parse_san(const Position& position, std::string_view san);

}  // namespace selfmate
