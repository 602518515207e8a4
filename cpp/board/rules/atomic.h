// Atomic: a capture removes the captured piece, the capturing piece, and every adjacent piece but pawns. A side whose
// king explodes loses.
#pragma once

#include "board/rules/chess.h"

namespace selfmate {

// The rule: make the move with its explosion. The own king must survive. Then the move is legal if the enemy king has
// exploded, or if the kings are adjacent (capturing one would explode the other), or if the own king is not attacked.
// Kings never capture. This class computes the same without making moves.
template <class Rules, Color US>
struct BlastSafety {
    static constexpr Color THEM = ~US;
    static constexpr bool HAS_CONTESTED = true;

    const State& state;
    Square king;
    Bitboard enemy_zone;  // targets of captures that explode the enemy king
    bool touching;
    Bitboard checkers = 0;
    Bitboard restricted = 0;  // pinned pieces
    Bitboard contested = 0;   // captures that may open a line to our king, or must end a check
    Bitboard quiet;           // legal targets of moves without capture
    Bitboard mask;

    explicit BlastSafety(const State& state_)
        : state(state_),
          king(state_.king(US)),
          enemy_zone(grow(state_.of(THEM, KING))),
          touching(contains(enemy_zone, king)) {
        const Bitboard own = state.of(US), them = state.of(THEM), occupied = own | them;
        quiet = ~occupied;
        const Bitboard harmless = them & ~KING_ATTACKS[king];  // captures that do not explode our king
        mask = quiet | harmless;
        if (touching) return;

        // 1. Pawns and knights that give check.
        checkers = them & ((PAWN_ATTACKS[US][king] & state.of(PAWN)) | (KNIGHT_ATTACKS[king] & state.of(KNIGHT)));
        // 2. Sliders on a line with the king: a check, a pin, or a line that one capture may clear. A capture removes
        //    at most three adjacent squares of a line and its origin, and at most one pawn of each side.
        Bitboard lines = 0;
        Bitboard aligned =
            them & ((ROOK_RAYS[king] & state.straight_sliders()) | (BISHOP_RAYS[king] & state.diagonal_sliders()));
        while (aligned) {
            const Square slider = take_first(aligned);
            const Bitboard between = BETWEEN[king][slider];
            const Bitboard blockers = between & occupied;
            if (!blockers) {
                checkers |= bit(slider);
                continue;
            }
            if (!more_than_one(blockers)) restricted |= blockers & own;
            if (count(blockers) <= 4 && !more_than_one(blockers & own & state.of(PAWN)) &&
                !more_than_one(blockers & them & state.of(PAWN)))
                lines |= between;
        }
        // 3. A capture that explodes the enemy king is legal whatever line it opens.
        const Bitboard winning = harmless & enemy_zone;
        contested = (checkers ? harmless : harmless & grow(lines)) & ~winning;
        if (checkers) quiet &= more_than_one(checkers) ? 0 : BETWEEN[king][first(checkers)];
        mask = quiet | (harmless & ~contested);
    }

    // For a capture that explodes neither king.
    bool survives(Square from, Square to, Bitboard captured) const {
        const Bitboard gone = bit(from) | captured | bit(to) | (KING_ATTACKS[to] & ~state.of(PAWN));
        const Bitboard occupied = state.occupied() & ~gone;
        return !(state.attackers(king, occupied) & state.of(THEM) & occupied);
    }

    bool allows(Square from, Square to) const { return survives(from, to, bit(to)); }

    Bitboard targets(Square from, Bitboard attacked) const {
        Bitboard legal = attacked & quiet & LINE[king][from];
        Bitboard captures = attacked & state.of(THEM) & ~KING_ATTACKS[king];
        legal |= captures & enemy_zone;
        for (captures &= ~enemy_zone; captures;) {
            const Square to = take_first(captures);
            if (allows(from, to)) legal |= bit(to);
        }
        return legal;
    }

    Bitboard king_targets() const {
        const Bitboard candidates = KING_ATTACKS[king] & ~state.occupied();
        Bitboard safe = candidates & enemy_zone;
        const Bitboard occupied = state.occupied() ^ bit(king);
        for (Bitboard rest = candidates ^ safe; rest;) {
            const Square square = take_first(rest);
            if (!(state.attackers(square, occupied) & state.of(THEM))) safe |= bit(square);
        }
        return safe;
    }

    bool safe_for_king(Square square, Bitboard occupied) const {
        return contains(enemy_zone, square) || !(state.attackers(square, occupied) & state.of(THEM));
    }

    bool en_passant(Square from, Square square) const {
        if (contains(KING_ATTACKS[king], square)) return false;
        if (touching || contains(enemy_zone, square)) return true;
        return survives(from, square, bit(square ^ 8));
    }
};

struct Atomic : Chess {
    static constexpr std::string_view NAME = "atomic";
    static constexpr bool CAPTURES_EXPLODE = true;

    template <class Rules, Color US>
    using Legality = BlastSafety<Rules, US>;

    template <class Rules>
    static Bitboard checkers(const State& state, Color side) {
        const Bitboard king = state.of(side, KING), enemy_king = state.of(~side, KING);
        if (!king || (KING_ATTACKS[first(king)] & enemy_king)) return 0;
        return state.attackers(first(king), state.occupied()) & state.of(~side);
    }

    static bool has_ended(const State& state) { return !state.of(WHITE, KING) || !state.of(BLACK, KING); }
    static Outcome ending(const State& state) {
        return {Termination::KING_EXPLODED, winner(state.of(WHITE, KING) ? WHITE : BLACK)};
    }

    static bool cannot_win(const State& state, Color side) {
        const Bitboard own = state.of(side), them = state.of(~side), kings = state.of(KING);
        if (!(them & kings)) return false;
        if (!(own & ~kings)) return true;
        if (them & ~kings) {
            // A piece may explode beside its own king, unless only bishops of opposite square colours are left. Then
            // only mate wins: kings guard nothing (beside the enemy king no check counts), and bishops of one square
            // colour mate in a corner of that colour if two enemy bishops block their own king (Lichess: a draw with
            // up to four pieces).
            if (const Bitboard bishops = state.of(BISHOP); state.occupied() == (bishops | kings)) {
                const auto never_meet = [&](Bitboard ours, Bitboard theirs) {
                    return !(bishops & own & ~ours) && !(bishops & them & ~theirs);
                };
                return !more_than_one(bishops & them) &&
                       (never_meet(DARK_SQUARES, LIGHT_SQUARES) || never_meet(LIGHT_SQUARES, DARK_SQUARES));
            }
            return false;
        }
        // Against a bare king nothing can be captured: only mate wins.
        if (state.of(QUEEN) | state.of(PAWN)) return false;
        const Bitboard knights = state.of(KNIGHT);
        if (count(knights | state.of(BISHOP) | state.of(ROOK)) == 1) return true;
        return state.occupied() == (knights | kings) && count(knights) <= 2;
    }
};

}  // namespace selfmate
