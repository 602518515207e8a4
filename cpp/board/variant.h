// The registry of variants: for each, its properties and a table of functions compiled for its rules. A call through
// the table is one indirect call; everything below it is inlined.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string_view>

#include "board/movegen.h"
#include "board/outcome.h"

namespace selfmate {

struct Variant {
    // Properties (see rules/chess.h).
    std::string_view name;
    std::string_view start;
    int files, ranks;
    bool pawns, double_step, castling;
    int checks_to_win;  // 0: checks are not counted
    bool shuffled;      // also exists with Chess960 start positions, as name + "960"
    bool kings_may_explode;
    bool capture_is_compulsory;
    bool checks_are_forbidden;
    bool colors_differ;        // the rules or the goal depend on the colour
    Bitboard hill, race_goal;  // squares on which a king wins; 0 in most variants
    bool royal[2];
    int max_pieces[2];
    Bitboard board;
    Bitboard pawn_squares[2];
    std::span<const Role> promotions;

    // Functions.
    void (*legal_moves)(const State&, MoveList&);
    std::size_t (*count_moves)(const State&);
    void (*play)(State&, Move);
    Bitboard (*checkers)(const State&, Color side);
    bool (*can_capture_en_passant)(const State&, Square);
    bool (*has_ended)(const State&);
    Outcome (*ending)(const State&);
    Outcome (*without_moves)(const State&, bool in_check);
    bool (*cannot_win)(const State&, Color side);
    // Leaves of the tree of legal moves. Returns early, with an undefined number, once `stop` is set.
    std::uint64_t (*perft)(const State&, int depth, const std::atomic<bool>& stop);
};

std::span<const Variant> variants();

// Returns null for an unknown name.
const Variant* find_variant(std::string_view name);

}  // namespace selfmate
