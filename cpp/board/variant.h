// The registry: every variant by name, as a table of functions compiled for its rules. One call through the
// table reaches code in which everything below is inlined.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string_view>

#include "board/movegen.h"
#include "board/outcome.h"

namespace selfmate {

struct Variant {
    // What its rules state about the board (see rules/chess.h).
    std::string_view name;
    std::string_view start;
    int files, ranks;
    bool pawns, double_step, castling, counts_checks;
    bool shuffled;  // also played from Chess960's positions, under its name with 960 at the end
    bool kings_may_explode;
    bool capture_is_compulsory;
    bool checks_are_forbidden;
    bool colors_differ;  // the two sides play different games
    bool royal[2];
    int max_pieces[2];
    Bitboard board;
    Bitboard pawn_squares[2];
    std::span<const Role> promotions;

    // What its rules do.
    void (*legal_moves)(const State&, MoveList&);
    std::size_t (*count_moves)(const State&);
    void (*play)(State&, Move);
    Bitboard (*checkers)(const State&, Color side);
    bool (*can_capture_en_passant)(const State&, Square);
    bool (*has_ended)(const State&);
    Outcome (*ending)(const State&);
    Outcome (*without_moves)(const State&, bool in_check);
    bool (*cannot_win)(const State&, Color side);
    // Leaves of the tree of legal moves; gives up early, with a useless number, once `stop` is set.
    std::uint64_t (*perft)(const State&, int depth, const std::atomic<bool>& stop);
};

std::span<const Variant> variants();

// Null when there is none of that name.
const Variant* find_variant(std::string_view name);

}  // namespace selfmate
