// A pool with external seats, used by many threads at once as in a match against engines: lanes evaluate, one thread
// takes move requests, others play moves or end games, while games are added, drained and inspected. No game is lost or
// played twice, and the order of events changes none of them. Most useful with sanitizers.
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "search/pool.h"
#include "tests/check.h"
#include "util/error.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

constexpr std::size_t SLOTS = 7, LANES = 2;
constexpr int EXTERNAL_PLAYERS = 3;
constexpr std::uint64_t GAMES = 240 / SHARE;

PoolConfig config(const Variant& variant) {
    return {.variant = &variant,
            .seed = 6,
            .selfplay = SelfPlayConfig::of_match(60),
            .score_rules = {.resign = ScoreRule{.centipawns = 450, .moves = 3, .from_move = 0},
                            .win = ScoreRule{.centipawns = 300, .moves = 3, .from_move = 0},
                            .draw = ScoreRule{.centipawns = 50, .moves = 2, .from_move = 5}},
            .max_id_lead = 2 * SLOTS,
            .slots = 1};
}

// A search, a longer one with another evaluator, random moves, and two external seats.
std::vector<Seat> seats() {
    const Seat external{.visits = 0, .external = true};
    return {Seat{.visits = 6}, Seat{.visits = 12, .evaluator = 1}, Seat{.visits = 0}, external, external};
}

GameSpec game_spec(std::uint64_t id) {
    constexpr std::uint8_t PAIRS[][2] = {{0, 3}, {3, 1}, {2, 3}, {3, 4}, {0, 1}, {4, 2}};
    const auto& [white, black] = PAIRS[id % std::size(PAIRS)];
    return {.id = id, .white_seat = white, .black_seat = black};
}

constexpr const char* EVALUATORS[] = {"fake", "heuristic-1"};

bool evaluate_batches(Pool& pool) {
    bool busy = false;
    for (const std::uint8_t evaluator : {std::uint8_t(0), std::uint8_t(1)}) {
        const LeafBatch batch = pool.gather(evaluator);
        if (batch.size) pool.apply(batch.ticket, find_native_evaluator(EVALUATORS[evaluator]));
        busy |= batch.size > 0;
    }
    return busy;
}

// Whether `work` throws an Error of this kind.
template <class Work>
bool throws(const char* kind, Work work) {
    try {
        work();
    } catch (const Error& error) {
        return std::string_view(error.kind()) == kind;
    }
    return false;
}

// Plays a move, sometimes ends the game; a function of the game alone.
void play_external(Pool& pool, const Variant& variant, const MoveRequest& game) {
    Position position(parse_fen(variant, false, game.start_fen), false);
    for (const Move move : game.moves) position.play(move);
    const std::string where = position.fen(Castling::X_FEN);
    Random random(1, game.id, game.moves.size(), 0);
    if (random.below(40) == 0) {
        pool.forfeit(game.slot, winner(Color(random.below(2))), "enough");
        return;
    }
    if (random.below(8) == 0) CHECK(throws("IllegalMove", [&] { pool.play(game.slot, Move(0, 0)); }), where);
    const MoveList moves = position.legal_moves();
    const Move move = moves[random.below(static_cast<std::uint32_t>(moves.size()))];
    pool.play(game.slot, move, random.below(4) ? Score(int(random.below(1200)) - 600) : std::nullopt);
}

using Games = std::map<std::uint64_t, std::string>;  // bytes of each game, by id

void collect(std::vector<GameRecord> records, Games& games) {
    for (const GameRecord& record : records) {
        const std::string bytes = write_record(record);
        CHECK(write_record(read_record(bytes)) == bytes, bytes);  // every move can be replayed
        CHECK(games.emplace(record.id, bytes + record.referee_reason).second, std::to_string(record.id));
    }
}

// On one thread and one slot.
Games play_sequentially(const Variant& variant) {
    Pool pool(config(variant), seats());
    for (std::uint64_t id = 0; id < GAMES; ++id) pool.add({game_spec(id)});
    while (!pool.done())
        if (!evaluate_batches(pool))
            for (const MoveRequest& game : pool.take_move_requests(0)) play_external(pool, variant, game);
    Games games;
    collect(pool.drain(), games);
    return games;
}

// On many threads; long because the threads share their local state.
Games play_concurrently(const Variant& variant, bool greedy) {
    PoolConfig pool_config = config(variant);
    pool_config.greedy = greedy;
    pool_config.slots = SLOTS;
    pool_config.lanes = LANES;
    pool_config.threads = 2;
    Pool pool(pool_config, seats());
    Games games;
    std::mutex mutex;  // protects `requests`
    std::vector<MoveRequest> requests;
    std::atomic<bool> over = false;
    std::vector<std::jthread> threads;
    // 1. One thread takes move requests, EXTERNAL_PLAYERS threads play their moves.
    threads.emplace_back([&] {
        while (!over) {
            std::vector<MoveRequest> taken = pool.take_move_requests(0.01);
            const std::lock_guard lock(mutex);
            std::move(taken.begin(), taken.end(), std::back_inserter(requests));
        }
    });
    for (int i = 0; i < EXTERNAL_PLAYERS; ++i)
        threads.emplace_back([&] {
            while (!over) {
                std::optional<MoveRequest> game;
                {
                    const std::lock_guard lock(mutex);
                    if (!requests.empty()) {
                        game = std::move(requests.back());
                        requests.pop_back();
                    }
                }
                if (game)
                    play_external(pool, variant, *game);
                else
                    std::this_thread::yield();
            }
        });
    // 2. One thread drains and inspects.
    threads.emplace_back([&] {
        while (!over) {
            collect(pool.drain(), games);
            for (const GameRecord& record : pool.unfinished_games())
                CHECK(record.id < GAMES && record.moves.size() < 60, std::to_string(record.id));
            std::size_t wanted = 0;
            for (const std::size_t count : pool.games_to_evaluate()) wanted += count;
            CHECK(wanted <= SLOTS && pool.finished_games() <= GAMES, "");
            CHECK(throws("SearchError", [&] { pool.play(SLOTS, Move(0, 0)); }), "an unknown slot");
            pool.wait_for_event(pool.event_count(), 0.001);
        }
    });
    // 3. The lanes. Half of the games are added while others are played.
    std::atomic<bool> added = false;
    for (std::uint64_t id = 0; id < GAMES / 2; ++id) pool.add({game_spec(id)});
    std::vector<std::jthread> lanes;
    for (std::size_t lane = 0; lane < LANES; ++lane)
        lanes.emplace_back([&] {
            while (!added || !pool.done()) {
                const std::uint64_t seen = pool.event_count();
                if (!evaluate_batches(pool) && pool.idle()) pool.wait_for_event(seen, 0.01);
            }
        });
    for (std::uint64_t id = GAMES / 2; id < GAMES; ++id) pool.add({game_spec(id)});
    added = true;
    lanes.clear();
    over = true;
    threads.clear();
    collect(pool.drain(), games);
    return games;
}

}  // namespace

int main() {
    for (const char* name : {"chess", "atomic", "gardner"}) {
        const Variant& variant = *find_variant(name);
        const Games expected = play_sequentially(variant);
        CHECK(expected.size() == GAMES, name);
        CHECK(play_concurrently(variant, false) == expected, name);
        CHECK(play_concurrently(variant, true) == expected, name);
    }
    return finish();
}
