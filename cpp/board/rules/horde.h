// Horde: White has pawns and no king, and wins by mate; Black wins by capturing all white pieces.
#pragma once

#include <algorithm>

#include "board/rules/chess.h"

namespace selfmate {

struct Horde : Chess {
    static constexpr std::string_view NAME = "horde";
    static constexpr bool SHUFFLED = false;
    static constexpr bool COLORS_DIFFER = true;
    static constexpr std::string_view START =
        "rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1";
    static constexpr bool ROYAL[2] = {false, true};
    static constexpr int MAX_PIECES[2] = {36, 16};
    static constexpr Bitboard double_step_from(Color color) {
        return color == WHITE ? rank_mask(0) | rank_mask(1) : rank_mask(6);
    }
    static constexpr Bitboard pawn_squares(Color color) { return ~rank_mask(7) & ~(color == WHITE ? 0 : rank_mask(0)); }

    static bool has_ended(const State& state) { return !state.of(WHITE); }
    static Outcome ending(const State&) { return {Termination::HORDE_DESTROYED, Winner::BLACK}; }

    // Black can always capture everything. White's cases are those of Stephanos Papazis
    // (horde-insufficient-material-tests), as in Lichess: whether black pieces can block their own king so that the
    // remaining white pieces mate it.
    static bool cannot_win(const State& state, Color side) {
        if (side == BLACK) return false;
        const Material white(state, WHITE), black(state, BLACK);
        if (white.pawns == 1 && white.size() == 1) {
            Material queen = white, knight = white;
            queen.pawns = knight.pawns = 0;
            queen.queens = knight.knights = 1;
            return !can_mate(queen, black) && !can_mate(knight, black);
        }
        return !can_mate(white, black);
    }

private:
    struct Material {
        int pawns, knights, light_bishops, dark_bishops, rooks, queens;

        Material(const State& state, Color color)
            : pawns(count(state.of(color, PAWN))),
              knights(count(state.of(color, KNIGHT))),
              light_bishops(count(state.of(color, BISHOP) & LIGHT_SQUARES)),
              dark_bishops(count(state.of(color, BISHOP) & DARK_SQUARES)),
              rooks(count(state.of(color, ROOK))),
              queens(count(state.of(color, QUEEN))) {}

        int bishops() const { return light_bishops + dark_bishops; }
        bool bishop_pair() const { return light_bishops && dark_bishops; }
        // Without the king; more than two bishops of one square colour count as two.
        int size() const {
            return pawns + knights + rooks + queens + std::min(light_bishops, 2) + std::min(dark_bishops, 2);
        }
        int all() const { return pawns + knights + rooks + queens + bishops(); }
    };

    static bool can_mate(const Material& white, const Material& black) {
        const int size = white.size();
        // Black's bishops on the square colour of White's bishops, and on the other one.
        const int same = white.light_bishops ? black.light_bishops : black.dark_bishops;
        const int other = white.light_bishops ? black.dark_bishops : black.light_bishops;
        if (size == 0) return false;
        if (size >= 4) return true;
        if (size >= 2 && (white.pawns || white.queens)) return true;
        if (size >= 2 && white.rooks)
            return !(size == 2 && white.rooks == 1 && white.bishops() == 1 && black.all() == same);
        if (size == 1) {
            if (!black.all()) return false;
            if (white.queens) return black.pawns || black.rooks || black.light_bishops >= 2 || black.dark_bishops >= 2;
            if (white.rooks)
                return black.pawns >= 2 || (black.rooks && (black.pawns || black.knights)) ||
                       (black.pawns && black.knights);
            if (white.bishops()) return other >= 2 || (other && black.pawns) || black.pawns >= 2;
            return black.all() >= 3 && smothered_by_a_knight(black);
        }
        if (size == 2) {
            if (!black.all()) return false;
            if (white.knights == 2) return black.pawns || black.bishops() || black.knights;
            if (white.bishop_pair())
                return black.pawns || black.bishops() || (black.knights && (black.rooks || black.queens));
            if (white.knights) return black.pawns || other || black.all() - same >= 2;
            return (black.pawns && other) || (black.pawns && black.knights) || (other && black.knights) || other >= 2 ||
                   black.knights >= 2 || black.pawns >= 2;
        }
        return (white.knights == 2 && white.bishops() == 1) || white.knights == 3 || white.bishop_pair() || black.all();
    }

    static bool smothered_by_a_knight(const Material& black) {
        const int kinds = bool(black.knights) + bool(black.rooks) + bool(black.bishops()) + bool(black.pawns);
        return (kinds >= 2 || black.knights >= 2 || black.pawns >= 2) &&
               (black.dark_bishops < 2 || black.all() - black.dark_bishops >= 2) &&
               (black.light_bishops < 2 || black.all() - black.light_bishops >= 2);
    }
};

}  // namespace selfmate
