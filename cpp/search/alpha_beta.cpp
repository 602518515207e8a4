#include "search/alpha_beta.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>
#include <vector>

#include "search/native_evaluators.h"

namespace selfmate {
namespace {

constexpr int INFINITE = ALPHA_BETA_WIN + 1;
constexpr int FORCED = ALPHA_BETA_WIN - 1000;  // scores beyond are forced wins
constexpr int MAX_PLY = 128;
constexpr int CHECKED_QUIESCENCE = 2;  // plies of quiescence in which evasions of a check are searched
constexpr int PIECE_CENTIPAWNS[7] = {0, 100, 300, 325, 500, 900, 1000};
constexpr int DELTA = 200;         // a capture that leaves the score this far below alpha is not searched
constexpr int MOST_LEAD = 20'000;  // of an evaluation, far from a forced win
constexpr int DRAWISH = 8;         // a lead that cannot mate counts this much less
constexpr std::size_t MAX_TABLE = std::size_t{1} << 20;
// Pruning at low depths, where only mate wins (Stockfish and many others have the same, with other margins).
constexpr int STATIC_DEPTH = 5, STATIC_MARGIN = 110;  // above beta by this much for each ply: no move is searched
constexpr int FUTILE_DEPTH = 4, FUTILE_MARGIN = 130;  // below alpha by this much for each ply: no quiet move is
constexpr int LATE_DEPTH = 4;                         // from move 4 + depth^2 on no quiet move is

enum class Bound : std::uint8_t { NONE, EXACT, LOWER, UPPER };

struct Entry {
    Key key = 0;
    std::int32_t score = 0;
    std::uint16_t move = 0;
    std::int8_t depth = 0;
    Bound bound = Bound::NONE;
};

struct OrderedMove {
    int score;
    Move move;
};

class AlphaBeta {
public:
    AlphaBeta(const Variant& variant, std::uint64_t max_nodes, const NnueWeights* net)
        : variant_(variant),
          max_nodes_(max_nodes),
          needs_mate_(variant.royal[WHITE] && variant.royal[BLACK] && !variant.kings_may_explode && !variant.hill &&
                      !variant.race_goal && !variant.checks_to_win) {
        std::size_t size = 1024;
        while (size < MAX_TABLE && size < max_nodes) size *= 2;
        table_.resize(size);
        if (net) net_.emplace(*net, variant, MAX_PLY);
    }

    AlphaBetaResult run(const State& state, int depth) {
        AlphaBetaResult result{.score = 0, .depth = 0, .best = Move(0, 0), .nodes = 0};
        for (int iteration = 1; iteration <= depth; ++iteration) {
            may_stop_ = iteration > 1;
            most_extended_ = std::min(2 * iteration, MAX_PLY);
            const int score = search(state, iteration, -INFINITE, INFINITE, 0, false);
            if (stopped_) break;
            result = {.score = score, .depth = iteration, .best = root_best_, .nodes = nodes_};
            if (std::abs(score) > FORCED && ALPHA_BETA_WIN - std::abs(score) <= iteration) break;
        }
        result.nodes = nodes_;
        return result;
    }

private:
    int search(const State& state, int depth, int alpha, int beta, int ply, bool after_null) {
        // 1. The end of the game, and draws by repetition or by the fifty-move rule
        ++nodes_;
        if (may_stop_ && nodes_ >= max_nodes_) stopped_ = true;
        if (stopped_) return 0;
        MoveList moves;
        variant_.legal_moves(state, moves);
        if (!moves.size()) return score_without_moves(state, ply);
        if (ply && (state.halfmove_clock >= 100 || is_repeated(state))) return 0;
        if (ply >= MAX_PLY) return evaluate(state, MAX_PLY);
        const bool in_check = variant_.checkers(state, state.turn);
        if (in_check && ply < most_extended_) ++depth;
        if (depth <= 0) return quiesce(state, moves, in_check, alpha, beta, ply, 0);
        // 2. The table
        Entry& entry = table_[state.key & (table_.size() - 1)];
        const bool known = entry.bound != Bound::NONE && entry.key == state.key;
        const std::uint16_t first = known ? entry.move : 0;
        if (known && ply && entry.depth >= depth) {
            const int score = from_table(entry.score, ply);
            if (entry.bound == Bound::EXACT || (entry.bound == Bound::LOWER && score >= beta) ||
                (entry.bound == Bound::UPPER && score <= alpha))
                return score;
        }
        // 3. A lead over beta that a few plies hardly change, or that is there even after a pass: no move is needed
        const bool prunes = needs_mate_ && !in_check;
        const int standing = in_check ? -INFINITE : evaluate(state, ply);
        if (prunes && ply && depth <= STATIC_DEPTH && beta < FORCED && standing - STATIC_MARGIN * depth >= beta &&
            may_pass(state))
            return standing;
        if (!in_check && !after_null && depth >= 3 && ply && beta < FORCED && may_pass(state) && standing >= beta) {
            State next = state;
            next.key ^= ZOBRIST.black_to_move;
            if (next.ep_square != NO_SQUARE) next.key ^= ZOBRIST.en_passant[file_of(next.ep_square)];
            next.ep_square = NO_SQUARE;
            next.turn = ~next.turn;
            keys_.push_back(state.key);
            const int score = -search(next, depth - 3 - depth / 5, -beta, 1 - beta, ply + 1, true);
            keys_.pop_back();
            if (stopped_) return 0;
            if (score >= beta) return std::min(score, FORCED);
        }
        // 4. The moves: later quiet ones with less depth first, and again where they turn out to be good
        OrderedMove ordered[MAX_MOVES];
        const std::size_t count = order(state, moves, first, ply, ordered);
        const int alpha_before = alpha;
        const bool futile = prunes && depth <= FUTILE_DEPTH && standing + FUTILE_MARGIN * (depth + 1) <= alpha;
        int best = -INFINITE;
        Move best_move = ordered[0].move;
        keys_.push_back(state.key);
        for (std::size_t i = 0; i < count; ++i) {
            const Move move = ordered[i].move;
            const bool quiet = !is_capture(state, move) && move.promotion() == NO_ROLE;
            State next = state;
            variant_.play(next, move);
            const bool late = prunes && depth <= LATE_DEPTH && i >= static_cast<std::size_t>(4 + depth * depth);
            if (ply && (futile || late) && i && quiet && best > -FORCED && alpha < FORCED &&
                !variant_.checkers(next, next.turn))
                continue;
            const int less = quiet && !in_check && depth >= 3 ? reduction(depth, i) : 0;
            int score;
            if (i == 0) {
                score = -search(next, depth - 1, -beta, -alpha, ply + 1, false);
            } else {
                score = -search(next, depth - 1 - less, -alpha - 1, -alpha, ply + 1, false);
                if (score > alpha && (less || score < beta) && !stopped_)
                    score = -search(next, depth - 1, -beta, -alpha, ply + 1, false);
            }
            if (stopped_) break;
            if (score > best) {
                best = score;
                best_move = move;
                if (!ply) root_best_ = move;
            }
            alpha = std::max(alpha, score);
            if (alpha >= beta) {
                if (quiet) remember(state, move, depth, ply);
                break;
            }
        }
        keys_.pop_back();
        if (stopped_) return 0;
        entry = {.key = state.key,
                 .score = to_table(best, ply),
                 .move = best_move.bits(),
                 .depth = static_cast<std::int8_t>(std::min(depth, 127)),
                 .bound = best >= beta          ? Bound::LOWER
                          : best > alpha_before ? Bound::EXACT
                                                : Bound::UPPER};
        return best;
    }

    // Captures and promotions until the position is quiet; a side in check searches all moves in the first plies.
    int quiesce(const State& state, const MoveList& moves, bool in_check, int alpha, int beta, int ply, int level) {
        const bool evades = in_check && level < CHECKED_QUIESCENCE;
        const int standing = evades ? -INFINITE : evaluate(state, std::min(ply, MAX_PLY));
        if (standing >= beta || ply >= MAX_PLY) return evades ? evaluate(state, MAX_PLY) : standing;
        alpha = std::max(alpha, standing);
        int best = standing;
        OrderedMove ordered[MAX_MOVES];
        const std::size_t count = order(state, moves, 0, ply, ordered);
        for (std::size_t i = 0; i < count; ++i) {
            const Move move = ordered[i].move;
            const bool forces = is_capture(state, move) || move.promotion() == QUEEN;
            if (!evades && !forces && !variant_.capture_is_compulsory) continue;
            if (!evades && !variant_.kings_may_explode && move.promotion() == NO_ROLE &&
                standing + DELTA + PIECE_CENTIPAWNS[state.role_at(move.to())] < alpha)
                continue;
            if (!evades && needs_mate_ && forces && loses_material(state, move)) continue;
            ++nodes_;
            if (may_stop_ && nodes_ >= max_nodes_) stopped_ = true;
            if (stopped_) return 0;
            State next = state;
            variant_.play(next, move);
            MoveList replies;
            variant_.legal_moves(next, replies);
            const int score = !replies.size() ? -score_without_moves(next, ply + 1)
                                              : -quiesce(next, replies, variant_.checkers(next, next.turn), -beta,
                                                         -alpha, ply + 1, level + 1);
            best = std::max(best, score);
            alpha = std::max(alpha, score);
            if (alpha >= beta) break;
        }
        return best;
    }

    // Plies less for the quiet move with this number (0: the first): logarithmic in depth and number where only mate
    // wins.
    int reduction(int depth, std::size_t number) const {
        if (number < 4) return 0;
        if (!needs_mate_) return number >= 12 ? 2 : 1;
        const int logarithms = std::bit_width(static_cast<unsigned>(depth * depth)) *
                               std::bit_width(static_cast<unsigned>(number * number));
        return std::min(depth - 2, logarithms / 10);
    }

    // Whether the exchanges on the target of a capture lose material, the least piece taking first. Pins are ignored.
    static bool loses_material(const State& state, Move move) {
        const Square to = move.to();
        int attacker = state.role_at(move.from());
        if (PIECE_CENTIPAWNS[state.role_at(to)] >= PIECE_CENTIPAWNS[attacker]) return false;
        Bitboard occupied = state.occupied() ^ bit(move.from());
        if (move.to() == state.ep_square && attacker == PAWN) return false;
        int gains[32], depth = 0;
        gains[0] = PIECE_CENTIPAWNS[state.role_at(to)];
        for (Color side = ~state.turn; depth < 31; side = ~side) {
            const Bitboard attackers = state.attackers(to, occupied) & occupied & state.of(side);
            if (!attackers) break;
            int role = PAWN;
            while (!(attackers & state.of(Role(role)))) ++role;
            gains[depth + 1] = PIECE_CENTIPAWNS[attacker] - gains[depth];
            ++depth;
            attacker = role;
            occupied ^= bit(first(attackers & state.of(Role(role))));
        }
        while (depth > 0) {
            gains[depth - 1] = std::min(gains[depth - 1], -gains[depth]);
            --depth;
        }
        return gains[0] < 0;
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

    static bool is_capture(const State& state, Move move) {
        return contains(state.of(~state.turn), move.to()) ||
               (move.to() == state.ep_square && contains(state.of(PAWN), move.from()));
    }

    // Writes the moves, the most promising first: the table's, captures by victim and attacker, promotions, killers,
    // then by history.
    std::size_t order(const State& state, const MoveList& moves, std::uint16_t first, int ply,
                      OrderedMove* ordered) const {
        std::size_t count = 0;
        for (const Move move : moves) {
            int score = history_[state.turn][move.from()][move.to()];
            if (move.bits() == first && first)
                score = 1 << 30;
            else if (is_capture(state, move))
                score = (1 << 24) + 16 * PIECE_CENTIPAWNS[std::max(PAWN, state.role_at(move.to()))] -
                        PIECE_CENTIPAWNS[state.role_at(move.from())];
            else if (move.promotion() == QUEEN)
                score = (1 << 24) + 8000;
            else if (ply < MAX_PLY && (move.bits() == killers_[ply][0] || move.bits() == killers_[ply][1]))
                score = 1 << 23;
            ordered[count++] = {.score = score, .move = move};
        }
        std::stable_sort(ordered, ordered + count, [](const auto& a, const auto& b) { return a.score > b.score; });
        return count;
    }

    void remember(const State& state, Move move, int depth, int ply) {
        if (killers_[ply][0] != move.bits()) {
            killers_[ply][1] = killers_[ply][0];
            killers_[ply][0] = move.bits();
        }
        int& score = history_[state.turn][move.from()][move.to()];
        score = std::min(score + depth * depth, 1 << 22);
    }

    // Forced wins are stored as plies from the position, not from the root.
    static int to_table(int score, int ply) {
        return score > FORCED ? score + ply : score < -FORCED ? score - ply : score;
    }
    static int from_table(int score, int ply) {
        return score > FORCED ? score - ply : score < -FORCED ? score + ply : score;
    }

    const Variant& variant_;
    std::vector<Key> keys_;  // of the line that is searched
    std::uint64_t max_nodes_, nodes_ = 0;
    bool needs_mate_;  // no other way to win
    bool may_stop_ = false, stopped_ = false;
    int most_extended_ = 0;  // checks are extended up to this ply
    Move root_best_ = Move(0, 0);
    std::optional<NnueLine> net_;  // none: the evaluation of heuristic-1
    std::vector<Entry> table_;
    std::uint16_t killers_[MAX_PLY][2] = {};
    int history_[2][64][64] = {};
};

}  // namespace

AlphaBetaResult alpha_beta(const Variant& variant, const State& state, int depth, std::uint64_t max_nodes,
                           const NnueWeights* net) {
    return AlphaBeta(variant, max_nodes, net).run(state, std::clamp(depth, 1, MAX_ALPHA_BETA_DEPTH));
}

}  // namespace selfmate
