// Alpha-beta search with a net (nnue.h) or the evaluation of `heuristic-1`: it judges the moves of games in analysis. Its
// score is that of one line, not the mean of a tree, so a move that loses a piece to one reply shows its full loss, and two moves are compared
// exactly when their positions are searched to the same depth.
#pragma once

#include <cstdint>
#include <vector>

#include "search/nnue.h"

namespace selfmate {

// In centipawns. A forced win in n plies scores ALPHA_BETA_WIN - n.
constexpr int ALPHA_BETA_WIN = 1'000'000;
constexpr int MAX_ALPHA_BETA_DEPTH = 64;

struct AlphaBetaResult {
    int score;  // in centipawns, for the side to move
    int depth;  // of the deepest iteration that was finished
    Move best;
    std::uint64_t nodes;
    std::vector<int> scores;  // of each depth, from 1 on
};

// Searches a position with legal moves, one ply deeper at a time, until `depth` is reached or `max_nodes` positions
// were searched; the first ply is always searched. A position that repeats within a line counts as a draw; the game
// before the position is not known here, or else every move back and forth would be a draw. The result depends on the
// arguments alone. `net`: null for the evaluation of `heuristic-1`. `exact`: nothing is pruned, reduced or extended, so
// that the score is that of minimax with a quiescence search of all captures; for tests.
AlphaBetaResult alpha_beta(const Variant& variant, const State& state, int depth, std::uint64_t max_nodes,
                           const NnueWeights* net = nullptr, bool exact = false);

}  // namespace selfmate
