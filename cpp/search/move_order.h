// The order in which alpha-beta tries moves: the table's move, captures that lose nothing, killers, quiet moves by their
// history, captures that lose material.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "board/variant.h"
#include "search/exchange.h"

namespace selfmate {

inline bool is_capture(const State& state, Move move) {
    return contains(state.of(~state.turn), move.to()) ||
           (move.to() == state.ep_square && contains(state.of(PAWN), move.from()));
}

// What quiet moves did elsewhere in the search: by squares, and by piece and target after each of the two moves before
// (continuation history, as in Stockfish). Values go from -HISTORY_ONE to HISTORY_ONE.
class MoveHistory {
public:
    static constexpr int HISTORY_ONE = 16384;
    static constexpr int NO_PIECE_TO = -1;

    static int piece_to(const State& state, Move move) {
        return (6 * state.turn + state.role_at(move.from()) - 1) * 64 + move.to();
    }

    // `before`: `piece_to` of the two moves before, the last first.
    int score(const State& state, Move move, const int (&before)[2]) const {
        const int piece = piece_to(state, move);
        int sum = squares_[state.turn][move.from()][move.to()];
        for (const int each : before)
            if (each != NO_PIECE_TO) sum += continuations_[index(each, piece)];
        return sum;
    }

    void add(const State& state, Move move, const int (&before)[2], int bonus) {
        const int piece = piece_to(state, move);
        approach(squares_[state.turn][move.from()][move.to()], bonus);
        for (const int each : before)
            if (each != NO_PIECE_TO) approach(continuations_[index(each, piece)], bonus);
    }

private:
    static std::size_t index(int before, int piece) { return static_cast<std::size_t>(before * 768 + piece); }
    static void approach(std::int16_t& value, int bonus) {
        value = static_cast<std::int16_t>(value + bonus - value * std::abs(bonus) / HISTORY_ONE);
    }

    std::int16_t squares_[2][64][64] = {};
    std::vector<std::int16_t> continuations_ = std::vector<std::int16_t>(768 * 768);
};

// Hands out the moves of a position one by one, the most promising first.
class MovePicker {
public:
    static constexpr int FIRST = 1 << 30, CAPTURE = 1 << 24, KILLER = 1 << 23;

    // The moves that `wanted` takes, with the scores that `quiet_score` gives to quiet ones. `exchanges`: captures that
    // lose material come last.
    template <class Wanted, class QuietScore>
    MovePicker(const State& state, const MoveList& moves, std::uint16_t first, bool exchanges, Wanted wanted,
               QuietScore quiet_score)
        : state_(state), exchanges_(exchanges) {
        for (const Move move : moves) {
            if (!wanted(move)) continue;
            int score;
            if (first && move.bits() == first)
                score = FIRST;
            else if (is_capture(state, move))
                score = CAPTURE + 16 * PIECE_CENTIPAWNS[std::max(PAWN, state.role_at(move.to()))] -
                        PIECE_CENTIPAWNS[state.role_at(move.from())];
            else if (move.promotion() == QUEEN)
                score = CAPTURE + 8000;
            else
                score = quiet_score(move);
            moves_[count_++] = {.score = score, .move = move};
        }
    }

    // Returns whether there is one more move; it is `move()` then.
    bool next() {
        while (next_ < count_) {
            Scored* const best = std::max_element(moves_ + next_, moves_ + count_,
                                                  [](const auto& a, const auto& b) { return a.score < b.score; });
            if (exchanges_ && best->score > KILLER && best->score < FIRST && best->move.promotion() == NO_ROLE &&
                !exchange_gains(state_, best->move, 0)) {
                best->score -= 2 * CAPTURE;
                continue;
            }
            std::swap(moves_[next_++], *best);
            return true;
        }
        return false;
    }
    Move move() const { return moves_[next_ - 1].move; }
    int score() const { return moves_[next_ - 1].score; }

private:
    struct Scored {
        int score;
        Move move;
    };
    const State& state_;
    bool exchanges_;
    std::size_t next_ = 0, count_ = 0;
    Scored moves_[MAX_MOVES];
};

}  // namespace selfmate
