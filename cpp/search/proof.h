// Proven results of positions (MCTS-Solver, Winands et al. 2008), with the distance to the end of the game.
#pragma once

#include <cstdint>

namespace selfmate {

// The proven result of a position for the side to move there: unknown, a draw, or a win or loss in a number of plies
// with best play.
class Proof {
public:
    constexpr Proof() = default;
    static constexpr Proof draw() { return Proof(1); }
    static constexpr Proof win(int plies) { return Proof(2 + plies); }
    static constexpr Proof loss(int plies) { return Proof(-2 - plies); }

    constexpr bool known() const { return raw_ != 0; }
    constexpr bool is_draw() const { return raw_ == 1; }
    constexpr bool is_win() const { return raw_ > 1; }
    constexpr bool is_loss() const { return raw_ < 0; }
    constexpr int plies() const { return is_win() ? raw_ - 2 : is_loss() ? -2 - raw_ : 0; }
    constexpr float value() const { return is_win() ? 1.0f : is_loss() ? -1.0f : 0.0f; }

    // The result of the parent's edge to this position, for the side that moves along that edge.
    constexpr Proof for_mover() const {
        if (is_win()) return loss(plies() + 1);
        if (is_loss()) return win(plies() + 1);
        return *this;
    }
    // The order of preference of the side to move: short wins, long wins, draws, long losses, short losses.
    constexpr bool better_than(Proof other) const { return rank() > other.rank(); }
    constexpr bool operator==(const Proof&) const = default;

private:
    constexpr explicit Proof(int raw) : raw_(static_cast<std::int16_t>(raw)) {}
    constexpr int rank() const { return is_win() ? 20000 - plies() : is_loss() ? -20000 + plies() : 0; }
    std::int16_t raw_ = 0;
};

// Minimax over the proofs of a position's moves, each for the side to move. The position is decided if one move wins or
// if every move is decided.
class MinimaxProof {
public:
    constexpr void add(Proof move) {
        if (!move.known())
            all_known_ = false;
        else if (!best_.known() || move.better_than(best_))
            best_ = move;
    }
    // Unknown if the position is not decided.
    constexpr Proof result() const { return best_.is_win() || all_known_ ? best_ : Proof(); }

private:
    Proof best_;
    bool all_known_ = true;
};

}  // namespace selfmate
