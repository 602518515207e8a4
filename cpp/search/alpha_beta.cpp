#include "search/alpha_beta.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>
#include <vector>

#include "search/move_order.h"
#include "search/native_evaluators.h"
#include "search/transposition_table.h"

namespace selfmate {
namespace {

constexpr int INFINITE = ALPHA_BETA_WIN + 1;
constexpr int FORCED = ALPHA_BETA_WIN - 1000;  // scores beyond are forced wins
constexpr int MAX_PLY = 128;
constexpr int CHECKED_QUIESCENCE = 2;  // plies of quiescence in which evasions of a check are searched
constexpr int DELTA = 200;             // a capture that leaves the score this far below alpha is not searched
constexpr int MOST_LEAD = 20'000;      // of an evaluation, far from a forced win
constexpr int DRAWISH = 8;             // a lead that cannot mate counts this much less
constexpr std::uint64_t MIN_TABLE = 1 << 10, MAX_TABLE = 1 << 21;  // entries
// Selective search where only mate wins. The techniques and the size of their margins are those of Stockfish and many
// others (chessprogramming.org has each by its name).
constexpr int ASPIRATION_DEPTH = 4, ASPIRATION = 20;  // half the first window around the last score
constexpr int STATIC_DEPTH = 8, STATIC_MARGIN = 80;   // above beta by this much for each ply: no move is searched
constexpr int RAZOR_DEPTH = 3, RAZOR_MARGIN = 250;    // below alpha by this much for each ply: captures only
constexpr int REDUCED_DEPTH = 4;                      // from here on a node without a move in the table has a ply less
constexpr int SINGULAR_DEPTH = 7;  // from here on a move that is better than all others has a ply more
constexpr int FUTILE_DEPTH = 6, FUTILE_MARGIN = 90;  // below alpha by this much for each ply: no quiet move
constexpr int LATE_DEPTH = 8;                        // a number of quiet moves that grows with the square of the depth
constexpr int EXCHANGE_DEPTH = 6;                    // no move that loses more than this by exchanges, for each ply:
constexpr int CAPTURE_MARGIN = 90, QUIET_MARGIN = 50;

using Bound = TranspositionTable::Bound;

// What is known of a ply of the line that is searched.
struct Ply {
    int evaluation;
    int piece_to;  // of the move
    std::uint16_t killers[2];
};

// 32 times the logarithm to the base 2, linear between powers of 2: the same on every machine.
int log2_times_32(unsigned number) {
    const int power = std::bit_width(number) - 1;
    return 32 * power + static_cast<int>((number << 5) >> power) - 32;
}

class AlphaBeta {
public:
    AlphaBeta(const Variant& variant, std::uint64_t max_nodes, const NnueWeights* net, bool exact)
        : variant_(variant),
          max_nodes_(max_nodes),
          table_(std::bit_ceil(std::clamp(max_nodes, MIN_TABLE, MAX_TABLE))),
          selective_(!exact),
          needs_mate_(variant.royal[WHITE] && variant.royal[BLACK] && !variant.kings_may_explode && !variant.hill &&
                      !variant.race_goal && !variant.checks_to_win) {
        for (Ply& each : line_) each = {.evaluation = 0, .piece_to = MoveHistory::NO_PIECE_TO, .killers = {0, 0}};
        if (net) net_.emplace(*net, variant, MAX_PLY);
    }

    AlphaBetaResult run(const State& state, int depth) {
        AlphaBetaResult result{.score = 0, .depth = 0, .best = Move(0, 0), .nodes = 0, .scores = {}};
        for (int iteration = 1; iteration <= depth; ++iteration) {
            may_stop_ = iteration > 1;
            most_extended_ = std::min(2 * iteration, MAX_PLY);
            const int score = search_window(state, iteration, result.score);
            if (stopped_) break;
            result.score = score;
            result.depth = iteration;
            result.best = root_best_;
            result.scores.push_back(score);
            if (std::abs(score) > FORCED && ALPHA_BETA_WIN - std::abs(score) <= iteration) break;
        }
        result.nodes = nodes_;
        return result;
    }

private:
    // Searches the root with a small window around the last score, which is widened until the score is inside.
    int search_window(const State& state, int depth, int last) {
        int alpha = -INFINITE, beta = INFINITE, width = ASPIRATION;
        if (depth >= ASPIRATION_DEPTH && std::abs(last) < FORCED) alpha = last - width, beta = last + width;
        while (true) {
            const int score = search(state, depth, alpha, beta, 0, false);
            if (stopped_ || (score > alpha && score < beta)) return score;
            width *= 3;
            if (score <= alpha) alpha = width > 1000 ? -INFINITE : score - width;
            if (score >= beta) beta = width > 1000 ? INFINITE : score + width;
        }
    }

    // `cut`: a move that reaches beta is expected. `excluded`: a move that is left out; nothing is stored then.
    int search(const State& state, int depth, int alpha, int beta, int ply, bool cut, Move excluded = Move::null()) {
        // 1. Draws by repetition, and the last ply
        if (ply && is_repeated(state)) return 0;
        const bool in_check = variant_.checkers(state, state.turn);
        if (selective_ && in_check && ply < most_extended_) ++depth;
        if (depth <= 0 || ply >= MAX_PLY) return quiesce(state, in_check, alpha, beta, ply, 0);
        ++nodes_;
        if (may_stop_ && nodes_ >= max_nodes_) stopped_ = true;
        if (stopped_) return 0;
        // 2. The table; a position in it is not over
        const bool window = beta - alpha > 1;
        const TranspositionTable::Entry entry = table_.find(state.key);
        const std::uint16_t first = entry.move;
        if (entry.bound != Bound::NONE && ply && !window && excluded.is_null() && state.halfmove_clock < 100) {
            const int score = from_table(entry.score, ply);
            if ((selective_ ? entry.depth >= depth : entry.depth == depth) &&
                (entry.bound == Bound::EXACT || entry.bound == (score >= beta ? Bound::LOWER : Bound::UPPER)))
                return score;
        }
        // 3. The end of the game, and the fifty-move rule
        MoveList moves;
        variant_.legal_moves(state, moves);
        if (!moves.size()) return score_without_moves(state, ply);
        if (ply && state.halfmove_clock >= 100) return 0;
        // 4. No move is searched, or fewer plies
        Ply& now = line_[ply + 2];
        now.evaluation = in_check ? -INFINITE : evaluate(state, ply);
        const bool improving = !in_check && now.evaluation > line_[ply].evaluation;
        const bool prunes = selective_ && needs_mate_ && !in_check && ply;
        if (selective_ && !in_check && ply && !window && excluded.is_null() && beta < FORCED && alpha > -FORCED)
            if (const auto score = prune(state, depth, alpha, beta, ply, cut, improving)) return stopped_ ? 0 : *score;
        if (selective_ && needs_mate_ && depth >= REDUCED_DEPTH && !first) --depth;
        // 5. A move in the table that is much better than all others has a ply more
        int more = 0;
        if (selective_ && needs_mate_ && ply && depth >= SINGULAR_DEPTH && first && excluded.is_null() &&
            entry.depth >= depth - 3 && entry.bound != Bound::UPPER && std::abs(entry.score) < FORCED &&
            ply < most_extended_) {
            const int known = entry.score, bound = known - 2 * depth;
            const int score = search(state, (depth - 1) / 2, bound - 1, bound, ply, cut, Move::from_bits(first));
            if (stopped_) return 0;
            if (score < bound)
                more = 1;
            else if (bound >= beta)
                return bound;
            else if (known >= beta)
                more = -1;
        }
        // 6. The moves
        const int before[2] = {line_[ply + 1].piece_to, line_[ply].piece_to};
        MovePicker picker(
            state, moves, first, needs_mate_, [&](Move move) { return move != excluded; },
            [&](Move move) {
                return move.bits() == now.killers[0] || move.bits() == now.killers[1]
                           ? MovePicker::KILLER
                           : history_.score(state, move, before);
            });
        const int alpha_before = alpha;
        int best = -INFINITE, number = 0, quiets = 0;
        Move best_move = Move::null(), tried[64];
        keys_.push_back(state.key);
        for (; picker.next(); ++number) {
            const Move move = picker.move();
            const bool quiet = !is_capture(state, move) && move.promotion() == NO_ROLE;
            State next = state;
            variant_.play(next, move);
            const bool checks = variant_.checkers(next, next.turn);
            int less = selective_ && depth >= 2 && number ? reduction(depth, number) : 0;
            if (prunes && best > -FORCED && !checks && number &&
                is_hopeless(state, move, quiet, depth, std::max(depth - 1 - less, 0), number, alpha, improving,
                            now.evaluation, picker.score()))
                continue;
            if (less && needs_mate_) {
                less += cut - window - checks - improving - (picker.score() == MovePicker::KILLER);
                if (quiet && picker.score() < MovePicker::KILLER) less -= picker.score() / 12000;
                if (!quiet) less = std::min(less, picker.score() < 0 ? 2 : 0);
                if (in_check) less = std::min(less, 1);
                less = std::clamp(less, 0, depth - 1);
            } else if (!quiet || in_check || depth < 3) {
                less = 0;
            }
            now.piece_to = MoveHistory::piece_to(state, move);
            const int left = depth - 1 + (number == 0 && move.bits() == first ? more : 0);
            int score = 0;
            if (number) {
                score = -search(next, left - less, -alpha - 1, -alpha, ply + 1, true);
                if (score > alpha && less && !stopped_) score = -search(next, left, -alpha - 1, -alpha, ply + 1, !cut);
            } else if (!window) {
                score = -search(next, left, -alpha - 1, -alpha, ply + 1, !cut);
            }
            if (window && (!number || score > alpha) && !stopped_)
                score = -search(next, left, -beta, -alpha, ply + 1, false);
            if (stopped_) break;
            if (score > best) best = score;
            if (score > alpha) {
                alpha = score;
                best_move = move;
                if (!ply) root_best_ = move;
            }
            if (alpha >= beta) {
                if (quiet) remember(state, move, tried, quiets, before, depth, now);
                break;
            }
            if (quiet && quiets < 64) tried[quiets++] = move;
        }
        keys_.pop_back();
        now.piece_to = MoveHistory::NO_PIECE_TO;
        if (stopped_) return 0;
        if (best == -INFINITE) return alpha;  // the excluded move is the only one
        if (excluded.is_null())
            table_.store(state.key, to_table(best, ply), best_move.is_null() ? first : best_move.bits(), depth,
                         best >= beta          ? Bound::LOWER
                         : best > alpha_before ? Bound::EXACT
                                               : Bound::UPPER);
        return best;
    }

    // Returns a score if no move needs to be searched: the evaluation is far above beta, or is so even after a pass, or
    // is far below alpha and no capture helps.
    std::optional<int> prune(const State& state, int depth, int alpha, int beta, int ply, bool cut, bool improving) {
        const int standing = line_[ply + 2].evaluation;
        if (needs_mate_ && depth <= STATIC_DEPTH && standing - STATIC_MARGIN * (depth - improving) >= beta &&
            may_pass(state))
            return (standing + beta) / 2;
        if (needs_mate_ && depth <= RAZOR_DEPTH && standing + RAZOR_MARGIN * depth <= alpha) {
            const int score = quiesce(state, false, alpha, beta, ply, 0);
            if (stopped_ || score <= alpha) return score;
        }
        const bool after_null = line_[ply + 1].piece_to == MoveHistory::NO_PIECE_TO;
        if (after_null || depth < 3 || standing < beta || !may_pass(state)) return std::nullopt;
        State next = state;
        next.key ^= ZOBRIST.black_to_move;
        if (next.ep_square != NO_SQUARE) next.key ^= ZOBRIST.en_passant[file_of(next.ep_square)];
        next.ep_square = NO_SQUARE;
        next.turn = ~next.turn;
        const int less = needs_mate_ ? 4 + depth / 4 + std::min((standing - beta) / 150, 3) : 3 + depth / 5;
        keys_.push_back(state.key);
        const int score = -search(next, depth - less, -beta, 1 - beta, ply + 1, !cut);
        keys_.pop_back();
        if (stopped_ || score >= beta) return std::min(score, FORCED);
        return std::nullopt;
    }

    // Whether a later move is left out: a quiet one that is late, or far below alpha, or one that loses material.
    bool is_hopeless(const State& state, Move move, bool quiet, int depth, int left, int number, int alpha,
                     bool improving, int standing, int order) const {
        if (alpha >= FORCED) return false;
        if (!quiet)
            return depth <= EXCHANGE_DEPTH && order < 0 && !exchange_gains(state, move, -CAPTURE_MARGIN * depth);
        if (depth <= LATE_DEPTH && number >= (4 + depth * depth) / (improving ? 1 : 2) + 1) return true;
        if (left <= FUTILE_DEPTH && standing + FUTILE_MARGIN * (left + 1) <= alpha) return true;
        return left <= EXCHANGE_DEPTH && !exchange_gains(state, move, -QUIET_MARGIN * (left + 1));
    }

    // Captures and promotions until the position is quiet; a side in check searches all moves in the first plies.
    int quiesce(const State& state, bool in_check, int alpha, int beta, int ply, int level) {
        ++nodes_;
        if (may_stop_ && nodes_ >= max_nodes_) stopped_ = true;
        if (stopped_) return 0;
        const bool evades = in_check && level < CHECKED_QUIESCENCE;
        int standing = -INFINITE;
        MoveList moves;
        // Where only mate wins, a position without a check is hardly ever over.
        const bool stands = selective_ && needs_mate_ && !in_check;
        if (!stands) {
            variant_.legal_moves(state, moves);
            if (!moves.size()) return score_without_moves(state, ply);
        }
        if (!evades || ply >= MAX_PLY) standing = evaluate(state, std::min(ply, MAX_PLY));
        if (standing >= beta || ply >= MAX_PLY) return standing;
        if (stands) {
            variant_.legal_moves(state, moves);
            if (!moves.size()) return score_without_moves(state, ply);
        }
        alpha = std::max(alpha, standing);
        int best = standing;
        const auto wanted = [&](Move move) {
            if (evades || variant_.capture_is_compulsory) return true;
            if (!is_capture(state, move)) return move.promotion() == QUEEN;
            if (!selective_) return true;
            if (!variant_.kings_may_explode && move.promotion() == NO_ROLE &&
                standing + DELTA + PIECE_CENTIPAWNS[std::max(PAWN, state.role_at(move.to()))] < alpha)
                return false;
            return !needs_mate_ || exchange_gains(state, move, 0);
        };
        MovePicker picker(state, moves, 0, false, wanted,
                          [&](Move move) { return history_.score(state, move, NOTHING_BEFORE); });
        while (picker.next()) {
            State next = state;
            variant_.play(next, picker.move());
            const bool checks = variant_.checkers(next, next.turn);
            const int score = -quiesce(next, checks, -beta, -alpha, ply + 1, level + 1);
            if (stopped_) return 0;
            best = std::max(best, score);
            alpha = std::max(alpha, score);
            if (alpha >= beta) break;
        }
        return best;
    }

    // Plies less for the move with this number (0: the first).
    int reduction(int depth, int number) const {
        if (!needs_mate_) return number < 4 ? 0 : number >= 12 ? 2 : 1;
        return (800 +
                log2_times_32(static_cast<unsigned>(depth)) * log2_times_32(static_cast<unsigned>(number)) * 7 / 32) /
               1024;
    }

    int evaluate(const State& state, int ply) {
        const int lead = net_ ? std::clamp(net_->evaluate(state, ply), -MOST_LEAD, MOST_LEAD)
                              : static_cast<int>(100 * heuristic_lead(variant_, state));
        return needs_mate_ && !can_mate(state, lead > 0 ? state.turn : ~state.turn) ? lead / DRAWISH : lead;
    }

    // Whether a side has what usually wins against a king that is hunted: a pawn, or a rook more than the other side.
    static bool can_mate(const State& state, Color side) {
        if (state.of(side, PAWN)) return true;
        int more = 0;
        for (int role = KNIGHT; role <= QUEEN; ++role)
            more += PIECE_CENTIPAWNS[role] * (count(state.of(side, Role(role))) - count(state.of(~side, Role(role))));
        return more >= PIECE_CENTIPAWNS[ROOK] - PIECE_CENTIPAWNS[PAWN];
    }

    int score_without_moves(const State& state, int ply) const {
        const Outcome outcome = variant_.has_ended(state)
                                    ? variant_.ending(state)
                                    : variant_.without_moves(state, variant_.checkers(state, state.turn));
        if (outcome.winner == Winner::NONE) return 0;
        return outcome.winner == winner(state.turn) ? ALPHA_BETA_WIN - ply : ply - ALPHA_BETA_WIN;
    }

    bool is_repeated(const State& state) const {
        const std::size_t reach = std::min<std::size_t>(state.halfmove_clock, keys_.size());
        for (std::size_t back = 2; back <= reach; back += 2)
            if (keys_[keys_.size() - back] == state.key) return true;
        return false;
    }

    // Zugzwang is rare with a piece beside king and pawns; where captures are compulsory it is the rule.
    bool may_pass(const State& state) const {
        return !variant_.capture_is_compulsory && (state.of(state.turn) & ~state.of(PAWN) & ~state.of(KING));
    }

    // A quiet move reached beta, those before it did not.
    void remember(const State& state, Move move, const Move* tried, int count, const int (&before)[2], int depth,
                  Ply& now) {
        if (now.killers[0] != move.bits()) {
            now.killers[1] = now.killers[0];
            now.killers[0] = move.bits();
        }
        const int bonus = std::min(16 * depth * depth + 64 * depth, 2000);
        history_.add(state, move, before, bonus);
        for (int i = 0; i < count; ++i) history_.add(state, tried[i], before, -bonus);
    }

    // Forced wins are stored as plies from the position, not from the root.
    static int to_table(int score, int ply) {
        return score > FORCED ? score + ply : score < -FORCED ? score - ply : score;
    }
    static int from_table(int score, int ply) {
        return score > FORCED ? score - ply : score < -FORCED ? score + ply : score;
    }

    static constexpr int NOTHING_BEFORE[2] = {MoveHistory::NO_PIECE_TO, MoveHistory::NO_PIECE_TO};

    const Variant& variant_;
    std::vector<Key> keys_;  // of the line that is searched
    std::uint64_t max_nodes_, nodes_ = 0;
    TranspositionTable table_;
    bool selective_;
    bool needs_mate_;  // no other way to win
    bool may_stop_ = false, stopped_ = false;
    int most_extended_ = 0;  // moves are extended up to this ply
    Move root_best_ = Move(0, 0);
    std::optional<NnueLine> net_;  // none: the evaluation of heuristic-1
    Ply line_[MAX_PLY + 3];        // [ply + 2]
    MoveHistory history_;
};

}  // namespace

AlphaBetaResult alpha_beta(const Variant& variant, const State& state, int depth, std::uint64_t max_nodes,
                           const NnueWeights* net, bool exact) {
    return AlphaBeta(variant, max_nodes, net, exact).run(state, std::clamp(depth, 1, MAX_ALPHA_BETA_DEPTH));
}

}  // namespace selfmate
