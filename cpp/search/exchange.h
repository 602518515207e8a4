// The value of exchanges on one square, for the pruning and ordering of alpha-beta.
#pragma once

#include "board/state.h"

namespace selfmate {

constexpr int PIECE_CENTIPAWNS[7] = {0, 100, 300, 325, 500, 900, 1000};  // [role]; a king takes last

// Returns whether a move gains at least `least` centipawns after all exchanges on its target, the least piece taking
// first, and either side free to stop. Pins and promotions are ignored.
inline bool exchange_gains(const State& state, Move move, int least) {
    const Square to = move.to();
    const Role mover = state.role_at(move.from());
    const Role victim = contains(state.of(~state.turn), to)      ? state.role_at(to)
                        : mover == PAWN && to == state.ep_square ? PAWN
                                                                 : NO_ROLE;
    int balance = PIECE_CENTIPAWNS[victim] - least;  // for the side that has just taken
    if (balance < 0) return false;
    balance -= PIECE_CENTIPAWNS[mover];
    if (balance >= 0) return true;
    Bitboard occupied = (state.occupied() ^ bit(move.from())) | bit(to);
    bool gains = true;
    for (Color side = ~state.turn;; side = ~side) {
        const Bitboard attackers = state.attackers(to, occupied) & occupied & state.of(side);
        if (!attackers) return gains;
        int role = PAWN;
        while (!(attackers & state.of(Role(role)))) ++role;
        // A king cannot take a piece that is defended.
        if (role == KING && (state.attackers(to, occupied) & occupied & state.of(~side))) return gains;
        gains = !gains;
        balance = -balance - 1 - PIECE_CENTIPAWNS[role];
        if (balance >= 0) return gains;
        occupied ^= bit(first(attackers & state.of(Role(role))));
    }
}

}  // namespace selfmate
