// Making one legal move on a state, for any rules. There is no unmake: callers keep a copy of the state (state.h).
#pragma once

#include "board/rules/chess.h"

namespace selfmate {

template <class Rules, Color US>
bool can_capture_en_passant(const State& state, Square square) {
    Bitboard from_set = PAWN_ATTACKS[~US][square] & state.of(US, PAWN);
    if (!from_set || Rules::has_ended(state)) return false;
    const typename Rules::template Legality<Rules, US> legal(state);
    while (from_set)
        if (legal.en_passant(take_first(from_set), square)) return true;
    return false;
}

template <class Rules>
bool can_capture_en_passant(const State& state, Square square) {
    return state.turn == WHITE ? can_capture_en_passant<Rules, WHITE>(state, square)
                               : can_capture_en_passant<Rules, BLACK>(state, square);
}

template <class Rules>
void drop_castling(State& state, Bitboard squares) {
    for (Bitboard lost = state.castling & squares; lost;) state.key ^= ZOBRIST.castling[take_first(lost)];
    state.castling &= ~squares;
}

// Removes pieces from the board and from the key.
inline void remove(State& state, Bitboard squares) {
    for (Bitboard rest = squares; rest;) {
        const Square square = take_first(rest);
        state.key ^= ZOBRIST.piece(state.color_at(square), state.role_at(square), square);
    }
    state.clear(squares);
}

// Makes a legal move. Long because the six steps share their local state, and are compiled into one function per
// variant.
template <class Rules>
void play(State& state, Move move) {
    const Color us = state.turn, them = ~us;
    const Square from = move.from(), to = move.to();
    const Role role = state.role_at(from);
    const Square ep_square = state.ep_square;
    const bool castles = Rules::CASTLING && contains(state.of(us), to);
    Bitboard captured = state.of(them) & bit(to);

    // 1. Clear the en passant square.
    if (ep_square != NO_SQUARE) {
        state.key ^= ZOBRIST.en_passant[file_of(ep_square)];
        state.ep_square = NO_SQUARE;
        if (role == PAWN && to == ep_square) captured = bit(ep_square ^ 8);
    }
    ++state.halfmove_clock;

    // 2. Move the pieces.
    if (castles) {
        const Square king_to = make_square(to > from ? 6 : 2, rank_of(from));
        const Square rook_to = make_square(to > from ? 5 : 3, rank_of(from));
        state.clear(bit(from) | bit(to));
        state.put(us, KING, king_to);
        state.put(us, ROOK, rook_to);
        state.key ^= ZOBRIST.piece(us, KING, from) ^ ZOBRIST.piece(us, KING, king_to) ^ ZOBRIST.piece(us, ROOK, to) ^
                     ZOBRIST.piece(us, ROOK, rook_to);
    } else {
        const Role arriving = move.promotion() == NO_ROLE ? role : move.promotion();
        if (captured) {
            const Square square = first(captured);
            state.key ^= ZOBRIST.piece(them, state.role_at(square), square);
            state.halfmove_clock = 0;
        }
        if (role == PAWN) state.halfmove_clock = 0;
        state.clear(bit(from) | captured);
        state.put(us, arriving, to);
        state.key ^= ZOBRIST.piece(us, role, from) ^ ZOBRIST.piece(us, arriving, to);
    }

    // 3. Atomic: remove the capturing piece and all adjacent pieces but pawns.
    Bitboard gone = bit(from) | bit(to);
    if constexpr (Rules::CAPTURES_EXPLODE)
        if (captured) {
            const Bitboard blast = bit(to) | (KING_ATTACKS[to] & state.occupied() & ~state.of(PAWN));
            remove(state, blast);
            gone |= blast;
        }

    // 4. Castling rights end when the king moves, and when a rook moves or is captured.
    if constexpr (Rules::CASTLING)
        if (state.castling) {
            if (role == KING) gone |= rank_mask(us == WHITE ? 0 : LAST_RANK<Rules>);
            if constexpr (Rules::CAPTURES_EXPLODE)
                for (const Color side : {WHITE, BLACK})
                    if (!state.of(side, KING)) gone |= rank_mask(side == WHITE ? 0 : LAST_RANK<Rules>);
            drop_castling<Rules>(state, gone);
        }

    // 5. Change the side to move; count a check where checks win.
    state.key ^= ZOBRIST.black_to_move;
    state.turn = them;
    state.fullmove_number = static_cast<std::uint16_t>(state.fullmove_number + us);
    if constexpr (Rules::CHECKS_TO_WIN)
        if (Rules::template checkers<Rules>(state, them)) {
            std::uint8_t& left = state.checks_left[us];
            state.key ^= ZOBRIST.checks_left[us][left];
            if (left) --left;
            state.key ^= ZOBRIST.checks_left[us][left];
        }

    // 6. Set the en passant square only if such a capture is legal.
    if constexpr (Rules::DOUBLE_STEP)
        if (role == PAWN && (from ^ to) == 16 && rank_of(from) == (us == WHITE ? 1 : LAST_RANK<Rules> - 1)) {
            const Square passed = (from + to) / 2;
            if (can_capture_en_passant<Rules>(state, passed)) {
                state.ep_square = static_cast<std::uint8_t>(passed);
                state.key ^= ZOBRIST.en_passant[file_of(passed)];
            }
        }
}

}  // namespace selfmate
