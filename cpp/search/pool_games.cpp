// One game of a pool: start, search, move, end.
#include <algorithm>
#include <cmath>
#include <utility>

#include "search/pool.h"
#include "util/portable_math.h"

namespace selfmate {
namespace {

// The last argument of a random stream of (seed, game, ply or attempt, purpose).
enum Purpose : std::uint64_t { OPENING = 1, CAP, SEARCH, CHOICE, POLICY, PLAY_OUT };

// Draws a move of the improved policy in proportion to weight^(1 / temperature); at temperature 0 the heaviest one.
Move sample_policy(const std::vector<MoveStats>& moves, double temperature, Random& random) {
    const auto heaviest = std::max_element(moves.begin(), moves.end(),
                                           [](const MoveStats& a, const MoveStats& b) { return a.weight < b.weight; });
    if (temperature <= 0) return heaviest->move;
    std::vector<double> shares;
    double sum = 0;
    for (const MoveStats& stats : moves)
        sum +=
            shares.emplace_back(stats.weight > 0 ? exp_of(log_of(stats.weight / heaviest->weight) / temperature) : 0);
    double left = random.uniform() * sum;
    for (std::size_t i = 0; i < moves.size(); ++i)
        if ((left -= shares[i]) <= 0 && shares[i] > 0) return moves[i].move;
    return heaviest->move;
}

struct Expectation {
    float value, draw;
};

// What the improved policy expects for the side to move: the sum of weight times Q over the moves that the search has
// tried or proven. The mean of the root also counts the playouts that a Gumbel root spends on bad moves: it is too low
// (bench/value_target.py).
Expectation expectation(const Search& search, const std::vector<MoveStats>& moves) {
    const float draw_score = search.config().draw_score;  // part of the search's values, not of the target
    float sum = 0, value = 0, draw = 0;
    for (const MoveStats& stats : moves) {
        if (!stats.visits && !stats.proof.known()) continue;
        const bool proven = stats.proof.known();
        sum += stats.weight;
        value += stats.weight * (proven ? stats.value : stats.value - draw_score * stats.draw);
        draw += stats.weight * (proven ? float(stats.proof.is_draw()) : stats.draw);
    }
    Expectation expected{.value = search.root().value, .draw = 1};
    if (sum > 0) expected = {.value = value / sum, .draw = draw / sum};
    expected.draw = std::clamp(expected.draw, 0.0f, 1 - std::abs(expected.value));
    return expected;
}

}  // namespace

void Pool::begin_game(Slot& slot, GameSpec game) {
    const Variant& variant = *config_.variant;
    slot.game = std::move(game);
    slot.playing = true;
    slot.finished = slot.has_tree = slot.judging = false;
    for (GameEvaluationCache& cache : slot.caches) cache.clear();
    const std::string fen = slot.game.start_fen.empty() ? std::string(variant.start) : slot.game.start_fen;
    const State start = validate(parse_fen(variant, config_.chess960, fen), false);
    // Random opening moves, drawn again if they end the game.
    for (std::uint64_t attempt = 0;; ++attempt) {
        slot.state = start;
        slot.keys.clear();
        slot.past.clear();
        slot.record = {};
        slot.record.id = slot.game.id;
        slot.record.variant = &variant;
        slot.record.chess960 = config_.chess960;
        slot.record.start_fen = fen;
        slot.record.white_seat = slot.game.white_seat;
        slot.record.black_seat = slot.game.black_seat;
        Random random(config_.seed, slot.game.id, attempt, OPENING);
        const std::uint32_t plies = slot.game.random_opening ? random.below(config_.selfplay.random_plies + 1) : 0;
        bool ended = false;
        for (std::uint32_t ply = 0; ply < plies && !ended; ++ply) {
            MoveList moves;
            variant.legal_moves(slot.state, moves);
            ended = !moves.size();
            if (!ended) make_move(slot, moves[random.below(static_cast<std::uint32_t>(moves.size()))], std::nullopt);
        }
        slot.record.random_plies = static_cast<std::uint16_t>(slot.record.moves.size());
        if (!ended && !outcome(slot)) break;
        if (plies == 0) break;  // the start position itself is the end of the game
    }
    if (const auto over = outcome(slot)) {
        slot.record.outcome = over;
        slot.finished = true;
        return;
    }
    begin_search(slot);
}

// Replays a game and begins the search of its last position again, with the same random numbers, so that the game
// continues as it would have without the interruption.
void Pool::resume_game(Slot& slot, GameRecord record) {
    if (reuses_trees(record.white_seat, record.black_seat))  // its searches depend on their trees: play it again
        return begin_game(slot, {.id = record.id,
                                 .start_fen = std::move(record.start_fen),
                                 .white_seat = record.white_seat,
                                 .black_seat = record.black_seat,
                                 .random_opening = record.random_plies > 0});
    slot.game = {.id = record.id, .white_seat = record.white_seat, .black_seat = record.black_seat};
    slot.playing = true;
    slot.finished = slot.has_tree = slot.judging = false;
    for (GameEvaluationCache& cache : slot.caches) cache.clear();
    slot.state = validate(parse_fen(*config_.variant, config_.chess960, record.start_fen), false);
    slot.keys.clear();
    slot.past.clear();
    const std::vector<Move> moves = std::exchange(record.moves, {});
    std::vector<Score> scores = std::exchange(record.scores, {});
    scores.resize(moves.size());
    slot.record = std::move(record);
    slot.record.with_scores = false;
    for (std::size_t ply = 0; ply < moves.size(); ++ply) make_move(slot, moves[ply], scores[ply]);
    end_or_continue(slot);
}

void Pool::begin_search(Slot& slot) {
    const Seat& seat = mover(slot);
    if (seat.external) {
        slot.needs_external_move = true;
        slot.request_taken = false;
        return;
    }
    const std::uint64_t ply = slot.record.moves.size();
    slot.full_search =
        slot.judging || Random(config_.seed, slot.game.id, ply, CAP).uniform() < config_.selfplay.full_probability;
    slot.policy_move = !slot.judging && is_policy_move(slot);
    const std::size_t reach = std::min<std::size_t>(slot.state.halfmove_clock, slot.keys.size());
    const std::size_t moves = config_.variant->count_moves(slot.state);
    const std::uint32_t game_ply = 2u * (slot.state.fullmove_number - 1u) + std::uint32_t(slot.state.turn == BLACK);
    const std::uint32_t visits = slot.full_search ? seat.visits : config_.selfplay.fast_visits;
    SearchConfig search = seat.search;
    // A fast search is not learned from, and Dirichlet noise would only make its move worse (KataGo). Gumbel noise stays:
    // it draws the move.
    if (!slot.full_search) search.noise_epsilon = 0;
    if (slot.policy_move || slot.judging) search = search.without_noise();
    const bool keeps_tree = slot.has_tree && slot.cache_epoch == epoch_ && !slot.policy_move && !slot.judging;
    if (slot.cache_epoch != epoch_)
        for (GameEvaluationCache& cache : slot.caches) cache.clear();
    slot.cache_epoch = epoch_;
    cache(slot).begin_search();
    const SearchTask task{.variant = *config_.variant,
                          .root = slot.state,
                          .history = std::span(slot.keys).last(reach),
                          .config = search,
                          .visits = slot.policy_move              ? 0
                                    : moves == 1 && !slot.judging ? 1
                                                                  : search.budget(visits, moves, game_ply),
                          .seed = Random(config_.seed, slot.game.id, ply, SEARCH).bits(),
                          .encoding = &seat.encoding,
                          .past = slot.past};
    if (keeps_tree)
        slot.search.move_to(task);
    else
        slot.search.begin(task);
    slot.has_tree = reuses_trees(slot.game.white_seat, slot.game.black_seat);
}

// Whether the move of a game is drawn from the policy. Its search has no visits: it only evaluates the root, and its
// improved policy is that of the evaluator.
bool Pool::is_policy_move(const Slot& slot) const {
    const SelfPlayConfig& selfplay = config_.selfplay;
    return slot.record.moves.size() < selfplay.policy_plies ||
           (selfplay.policy_games > 0 &&
            Random(config_.seed, slot.game.id, 0, POLICY).uniform() < selfplay.policy_games);
}

double Pool::temperature_at(std::uint64_t ply) const {
    const SelfPlayConfig& selfplay = config_.selfplay;
    if (temperature_steps_.empty()) return ply < selfplay.temperature_plies ? selfplay.temperature : 0;
    double temperature = 0;
    for (const TemperatureStep& step : temperature_steps_)
        if (step.from_move <= ply / 2) temperature = step.temperature;
    return temperature;
}

// Records the search, if there was one, and makes its move.
void Pool::finish_search(Slot& slot) {
    if (slot.judging) return finish_judging(slot);
    const std::uint64_t ply = slot.record.moves.size();
    Random random(config_.seed, slot.game.id, ply, CHOICE);
    if (mover(slot).plays_random_moves()) {
        MoveList moves;
        config_.variant->legal_moves(slot.state, moves);
        make_move(slot, moves[random.below(static_cast<std::uint32_t>(moves.size()))], std::nullopt);
    } else {
        const Search& search = slot.search;
        const Node& root = search.root();
        const float value = root.proof.known() ? root.proof.value() : root.value;
        if (slot.full_search && root.edges > 1) record_search(slot);
        const double temperature = temperature_at(ply);
        slot.playouts += search.visits();
        ++slot.searched_plies;
        const Move move = slot.policy_move ? sample_policy(search.moves(), temperature, random)
                                           : search.root_move(search.sample(temperature, random));
        make_move(slot, move, centipawns(value));
    }
    end_or_continue(slot);
}

// Adds the position and its targets to the record.
void Pool::record_search(Slot& slot) {
    const std::vector<MoveStats> moves = slot.search.moves();
    const Expectation expected = expectation(slot.search, moves);
    TrainedPosition position{.ply = static_cast<std::uint16_t>(slot.record.moves.size()),
                             .value = expected.value,
                             .draw = expected.draw,
                             .net_value = slot.search.root().net_value,
                             .targets = {}};
    for (const MoveStats& stats : moves)
        if (stats.visits || stats.weight > 1e-4f)
            position.targets.push_back({.move = stats.move, .visits = stats.visits, .weight = stats.weight});
    slot.record.positions.push_back(std::move(position));
}

// Ends a truncated game with what the search of its last position expects.
void Pool::finish_judging(Slot& slot) {
    const Expectation expected = expectation(slot.search, slot.search.moves());
    const float sign = slot.state.turn == WHITE ? 1.0f : -1.0f;
    slot.record.judgement = Judgement{.value = sign * expected.value, .draw = expected.draw};
    slot.playouts += slot.search.visits();
    slot.judging = false;
    slot.finished = true;
}

void Pool::make_move(Slot& slot, Move move, Score score) {
    slot.keys.push_back(slot.state.key);
    if (seen_past_) {
        if (slot.past.size() == seen_past_) slot.past.erase(slot.past.begin());
        slot.past.push_back(slot.state);
    }
    slot.record.moves.push_back(move);
    slot.record.scores.push_back(score);
    config_.variant->play(slot.state, move);
}

// After a move: ends the game by the rules, by score or by its length, or begins the next search.
void Pool::end_or_continue(Slot& slot) {
    const Color moved = ~slot.state.turn;
    slot.record.outcome = outcome(slot);
    if (!slot.record.outcome)
        if (const auto end = adjudicate(config_.score_rules, slot.record.scores, moved,
                                        slot.state.fullmove_number - std::uint32_t(moved == BLACK))) {
            slot.record.outcome = Outcome{Termination::ADJUDICATED, end->winner};
            slot.record.referee_reason = end->reason;
        }
    if (!slot.record.outcome) resign_or_play_on(slot, moved);
    if (const std::uint32_t limit = config_.selfplay.quickdraw;
        limit && !slot.record.outcome && slot.state.halfmove_clock >= limit) {
        slot.record.outcome = Outcome{Termination::ADJUDICATED, Winner::NONE};
        slot.record.referee_reason = "quickdraw by the half-move clock";
    }
    const bool truncated = !slot.record.outcome && slot.record.moves.size() >= config_.selfplay.max_plies;
    const Seat& seat = mover(slot);
    slot.judging = truncated && config_.selfplay.judge_search && !seat.external && !seat.plays_random_moves();
    if ((slot.record.outcome || truncated) && !slot.judging)
        slot.finished = true;
    else
        begin_search(slot);
}

// Resignation by the values of a side's own searches. The record keeps where the rule was first met; a game that is
// played out goes on from there.
void Pool::resign_or_play_on(Slot& slot, Color moved) {
    const SelfPlayConfig& selfplay = config_.selfplay;
    if (selfplay.resign <= 0 || slot.record.resignation) return;
    const ScoreRules rules{.resign = ScoreRule{.centipawns = centipawns(selfplay.resign),
                                               .moves = selfplay.resign_moves,
                                               .from_move = selfplay.resign_from}};
    const auto plies = static_cast<std::uint16_t>(slot.record.moves.size());
    const auto end = adjudicate(rules, slot.record.scores, moved, (plies + 1u) / 2);
    if (!end) return;
    slot.record.resignation = Resignation{.ply = plies, .side = moved};
    if (Random(config_.seed, slot.game.id, 0, PLAY_OUT).uniform() < selfplay.resign_played_out) return;
    slot.record.outcome = Outcome{Termination::ADJUDICATED, end->winner};
    slot.record.referee_reason = end->reason;
}

// The outcome of a game in which every possible draw is claimed.
std::optional<Outcome> Pool::outcome(const Slot& slot) const {
    return selfmate::outcome(*config_.variant, slot.state, slot.keys, true);
}

}  // namespace selfmate
