// A pool with seats outside, used by many threads at once as a match against engines does: lanes search, somebody hears
// which games wait, others bring moves or end games, and all the while games are added, drained and looked at. No game
// is lost or played twice, and who came first changes none of them; above all under the sanitizers.
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
constexpr int ANSWERERS = 3;
constexpr std::uint64_t GAMES = 240 / SHARE;

PoolConfig config(const Variant& variant) {
    PoolConfig config;
    config.variant = &variant;
    config.seed = 6;
    config.max_plies = 60;
    config.rules = {ScoreRule{450, 3, 0}, ScoreRule{300, 3, 0}, ScoreRule{50, 2, 5}};
    config.ahead = 2 * SLOTS;
    return config;
}

// Seats: a search, a better one with another evaluator, any move, and two outside.
std::vector<Seat> seats() {
    return {{{}, 6, 0, false}, {{}, 12, 1, false}, {{}, 0, 0, false}, {{}, 0, 0, true}, {{}, 0, 0, true}};
}

Fixture fixture(std::uint64_t id) {
    constexpr std::uint8_t PAIRS[][2] = {{0, 3}, {3, 1}, {2, 3}, {3, 4}, {0, 1}, {4, 2}};
    const auto& [white, black] = PAIRS[id % std::size(PAIRS)];
    return {id, "", white, black};
}

constexpr const char* EVALUATORS[] = {"fake", "heuristic-1"};

bool search(Pool& pool) {
    bool busy = false;
    for (const std::uint8_t evaluator : {std::uint8_t(0), std::uint8_t(1)}) {
        const LeafBatch batch = pool.gather(evaluator);
        if (batch.size) pool.apply(batch.ticket, find_native_evaluator(EVALUATORS[evaluator]));
        busy |= batch.size > 0;
    }
    return busy;
}

template <class Work>
bool refused(const char* kind, Work work) {
    try {
        work();
    } catch (const Error& error) {
        return std::string_view(error.kind()) == kind;
    }
    return false;
}

// The move, or now and then the end, depends on the game alone.
void answer(Pool& pool, const Variant& variant, const Awaited& game) {
    Position position(parse_fen(variant, false, game.start_fen), false);
    for (const Move move : game.moves) position.play(move);
    const std::string where = position.fen(Castling::X_FEN);
    Random random(1, game.id, game.moves.size(), 0);
    if (random.below(40) == 0) {
        pool.forfeit(game.slot, winner(Color(random.below(2))), "enough");
        return;
    }
    if (random.below(8) == 0) CHECK(refused("IllegalMove", [&] { pool.play(game.slot, Move(0, 0)); }), where);
    const MoveList moves = position.legal_moves();
    const Move move = moves[random.below(static_cast<std::uint32_t>(moves.size()))];
    pool.play(game.slot, move, random.below(4) ? Score(int(random.below(1200)) - 600) : std::nullopt);
}

using Games = std::map<std::uint64_t, std::string>;  // what each game was

void keep(std::vector<GameRecord> records, Games& games) {
    for (const GameRecord& record : records) {
        const std::string bytes = write_record(record);
        CHECK(write_record(read_record(bytes)) == bytes, bytes);  // every move can be replayed
        CHECK(games.emplace(record.id, bytes + record.ending).second, std::to_string(record.id));
    }
}

Games by_one(const Variant& variant) {
    Pool pool(config(variant), seats(), 1, 1, 1, 1);
    for (std::uint64_t id = 0; id < GAMES; ++id) pool.add({fixture(id)});
    while (!pool.done())
        if (!search(pool))
            for (const Awaited& game : pool.awaiting(0)) answer(pool, variant, game);
    Games games;
    keep(pool.drain(), games);
    return games;
}

Games by_many(const Variant& variant, bool greedy) {
    PoolConfig how = config(variant);
    how.greedy = greedy;
    Pool pool(how, seats(), SLOTS, LANES, 2, 1);
    Games games;
    std::mutex mutex;  // around `waiting`
    std::vector<Awaited> waiting;
    std::atomic<bool> over = false;
    std::vector<std::jthread> threads;
    // 1. Who hears which games wait, and who brings their moves.
    threads.emplace_back([&] {
        while (!over) {
            std::vector<Awaited> heard = pool.awaiting(0.01);
            const std::lock_guard lock(mutex);
            std::move(heard.begin(), heard.end(), std::back_inserter(waiting));
        }
    });
    for (int i = 0; i < ANSWERERS; ++i)
        threads.emplace_back([&] {
            while (!over) {
                std::optional<Awaited> game;
                {
                    const std::lock_guard lock(mutex);
                    if (!waiting.empty()) {
                        game = std::move(waiting.back());
                        waiting.pop_back();
                    }
                }
                if (game)
                    answer(pool, variant, *game);
                else
                    std::this_thread::yield();
            }
        });
    // 2. Who looks, and takes what is over.
    threads.emplace_back([&] {
        while (!over) {
            keep(pool.drain(), games);
            for (const GameRecord& record : pool.in_flight())
                CHECK(record.id < GAMES && record.moves.size() < 60, std::to_string(record.id));
            std::size_t wanted = 0;
            for (const std::size_t count : pool.waiting()) wanted += count;
            CHECK(wanted <= SLOTS && pool.finished() <= GAMES, "");
            CHECK(refused("SearchError", [&] { pool.play(SLOTS, Move(0, 0)); }), "a slot that is not there");
            pool.wait(pool.news(), 0.001);
        }
    });
    // 3. The lanes. Half of the games come while others are played.
    std::atomic<bool> added = false;
    for (std::uint64_t id = 0; id < GAMES / 2; ++id) pool.add({fixture(id)});
    std::vector<std::jthread> lanes;
    for (std::size_t lane = 0; lane < LANES; ++lane)
        lanes.emplace_back([&] {
            while (!added || !pool.done()) {
                const std::uint64_t news = pool.news();
                if (!search(pool) && pool.idle()) pool.wait(news, 0.01);
            }
        });
    for (std::uint64_t id = GAMES / 2; id < GAMES; ++id) pool.add({fixture(id)});
    added = true;
    lanes.clear();
    over = true;
    threads.clear();
    keep(pool.drain(), games);
    return games;
}

}  // namespace

int main() {
    for (const char* name : {"chess", "atomic", "gardner"}) {
        const Variant& variant = *find_variant(name);
        const Games expected = by_one(variant);
        CHECK(expected.size() == GAMES, name);
        CHECK(by_many(variant, false) == expected, name);
        CHECK(by_many(variant, true) == expected, name);
    }
    return finish();
}
