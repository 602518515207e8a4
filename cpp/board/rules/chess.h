// Chess, and the list of everything a variant may state. A variant derives from `Chess` and states only what differs.
// Nothing is virtual: the generator is compiled once per variant.
#pragma once

#include <string_view>

#include "board/movegen.h"
#include "board/outcome.h"

namespace selfmate {

struct Chess {
    static constexpr std::string_view NAME = "chess";
    static constexpr std::string_view START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    // The board and the moves of its pieces.
    static constexpr int FILES = 8, RANKS = 8;
    static constexpr bool PAWNS = true;
    static constexpr bool DOUBLE_STEP = true;
    static constexpr bool CASTLING = true;
    static constexpr bool SHUFFLED = true;  // exists with Chess960 start positions, too
    static constexpr bool CAPTURE_IS_COMPULSORY = false;
    static constexpr bool CAPTURES_EXPLODE = false;
    static constexpr bool CHECKS_ARE_FORBIDDEN = false;
    static constexpr int CHECKS_TO_WIN = 0;  // 0 (checks are not counted) to 8
    static constexpr bool COLORS_DIFFER = false;
    static constexpr bool ROYAL[2] = {true, true};  // whether a side loses with its king
    static constexpr Bitboard HILL = 0;             // squares on which a king wins at once (king of the hill)
    static constexpr Bitboard RACE_GOAL = 0;        // squares that the kings race to (racing kings)
    static constexpr Role PROMOTIONS[] = {QUEEN, ROOK, BISHOP, KNIGHT};
    static constexpr int MAX_PIECES[2] = {16, 16};
    static constexpr Bitboard double_step_from(Color color) { return rank_mask(color == WHITE ? 1 : 6); }
    static constexpr Bitboard pawn_squares(Color) { return ~(rank_mask(0) | rank_mask(7)); }

    // Legality of moves (see legality.h).
    template <class Rules, Color US>
    using Legality = KingSafety<Rules, US>;

    // Pieces that give check to the king of a side.
    template <class Rules>
    static Bitboard checkers(const State& state, Color side) {
        if (!Rules::ROYAL[side]) return 0;
        return state.attackers(state.king(side), state.occupied()) & state.of(~side);
    }

    // The variant's own end of the game. After it there are no legal moves, and `ending` returns the outcome.
    static constexpr bool has_ended(const State&) { return false; }
    static Outcome ending(const State& state) { return {Termination::STALEMATE, winner(state.turn)}; }

    // The outcome if the side to move has no legal move.
    static Outcome without_moves(const State& state, bool in_check) {
        if (in_check) return {Termination::CHECKMATE, winner(~state.turn)};
        return {Termination::STALEMATE, Winner::NONE};
    }

    // Whether a side cannot win by any sequence of legal moves, by material alone (the rule of Lichess).
    static bool cannot_win(const State& state, Color side) {
        const Bitboard own = state.of(side), them = state.of(~side);
        if (own & (state.of(PAWN) | state.straight_sliders())) return false;
        // A lone knight mates only if an enemy piece other than a queen can block its own king.
        if (own & state.of(KNIGHT)) return count(own) <= 2 && !(them & ~state.of(KING) & ~state.of(QUEEN));
        // Bishops of one square colour mate only if a pawn or a knight can block the king.
        if (const Bitboard bishops = state.of(BISHOP); own & bishops)
            return (!(bishops & DARK_SQUARES) || !(bishops & LIGHT_SQUARES)) && !state.of(PAWN) && !state.of(KNIGHT);
        return true;
    }
};

}  // namespace selfmate
