// Standard algebraic notation, in and out, for every variant.
#pragma once

#include "board/position.h"

namespace selfmate {

// "Nf3", "exd6", "O-O", "b8=Q#"; a move that ends the game by the variant's own rule is marked # too.
// The move must be legal.
std::string write_san(const Position& position, Move move);

// Throws InvalidSan, AmbiguousSan or IllegalSan. Reads what people write: 0-0, e8Q, Ng1-f3, trailing + # ! ?.
Move parse_san(const Position& position, std::string_view san);

}  // namespace selfmate
