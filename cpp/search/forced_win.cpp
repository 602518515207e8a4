// A forced win at the root, by alpha-beta before the first playout. A tree with a net finds that a move wins long before
// it has proven the shortest win, and finds no win behind a move of small prior; alpha-beta sees both in milliseconds.
#include <algorithm>

#include "search/alpha_beta.h"
#include "search/search.h"

namespace selfmate {
namespace {

constexpr int LONGEST_WIN = 100;  // plies

// Plies to the forced win of a score, or 0 if it is none.
int plies_to_win(int score) {
    const int plies = ALPHA_BETA_WIN - score;
    return plies <= LONGEST_WIN ? plies : 0;
}

}  // namespace

// Whether a position of the game, or the root, has occurred twice. Alpha-beta does not know the game: behind such a
// position a line that it takes for won may be a draw by repetition.
bool Search::may_repeat_thrice() const {
    const std::size_t reach =
        std::min<std::size_t>(static_cast<std::size_t>(root_state_.halfmove_clock), root_key_) + 1;
    const auto end = selected_.keys.begin() + static_cast<std::ptrdiff_t>(root_key_ + 1);
    std::vector<Key> keys(end - static_cast<std::ptrdiff_t>(reach), end);
    std::ranges::sort(keys);
    return std::ranges::adjacent_find(keys) != keys.end();
}

// Gives a root edge the proof of a win that alpha-beta finds, and keeps the line of the win.
void Search::seek_forced_win() {
    if (!config_.forced_win_nodes || !config_.solver || visit_budget_ < SearchConfig::FORCED_WIN_VISITS) return;
    if (!root().edges || proof().known() || may_repeat_thrice()) return;
    // 1. Search. The win must come before the fifty-move rule ends the game.
    const std::uint64_t nodes = std::min<std::uint64_t>(
        config_.forced_win_nodes, std::uint64_t(visit_budget_) * SearchConfig::FORCED_WIN_NODES_PER_VISIT);
    const AlphaBetaResult found = alpha_beta(*variant_, root_state_, MAX_ALPHA_BETA_DEPTH, nodes);
    const int plies = plies_to_win(found.score);
    if (!plies || root_state_.halfmove_clock + plies > 100) return;
    // 2. Prove.
    Edge* const edges = tree_.edges_of(root());
    Edge* const edge =
        std::find_if(edges, edges + root().edges, [&](const Edge& each) { return each.move == found.best; });
    edge->proof = forced_proof_ = Proof::win(plies);
    MinimaxProof merged;
    for (std::size_t i = 0; i < root().edges; ++i) merged.add(edges[i].proof);
    tree_.nodes[0].proof = merged.result();
    // 3. The line, as far as each of its positions is seen as won within as many positions as the root.
    State state = root_state_;
    Move move = found.best;
    for (int left = plies - 1;; --left) {
        forced_line_.push_back(move);
        variant_->play(state, move);
        if (left <= 0 || is_over(state)) return;
        const AlphaBetaResult next = alpha_beta(*variant_, state, MAX_ALPHA_BETA_DEPTH, nodes);
        if (!plies_to_win(state.turn == root_state_.turn ? next.score : -next.score)) return;
        move = next.best;
    }
}

}  // namespace selfmate
