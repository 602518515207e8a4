// Search, self-play, records and buffer of every variant: what must hold, above all under the sanitizers.
#include "board/terminal_moves.h"
#include "data/buffer.h"
#include "search/pool.h"
#include "tests/check.h"
#include "util/error.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

constexpr int GAMES = 24 / SHARE, VISITS = 24;

void searches(const Variant& variant) {
    const State start = validate(parse_fen(variant, false, variant.start), false);
    for (const char* name : {"uniform", "fake", "heuristic-1"})
        for (const bool gumbel : {false, true}) {
            SearchConfig config;
            config.gumbel = gumbel;
            config.noise_epsilon = 0.25f;
            Search search;
            search.begin(variant, start, {}, config, 300, 9);
            search.run(find_native_evaluator(name));
            std::uint32_t visits = 0;
            float weight = 0;
            for (const MoveStats& stats : search.moves()) {
                visits += stats.visits;
                weight += stats.weight;
            }
            CHECK(visits == search.visits() && search.visits() == 300, std::string(variant.name));
            CHECK(weight > 0.999f && weight < 1.001f, std::string(variant.name));
            for (const Node& node : search.tree().nodes)
                CHECK(!node.in_flight && !node.waiting, std::string(variant.name));
        }
}

// A move that is not tried at all must neither give check nor end the game.
void ends(const Variant& variant) {
    Random random(11);
    std::size_t tried = 0, all = 0;
    for (int game = 0; game < 40 / SHARE; ++game) {
        State state = validate(parse_fen(variant, false, variant.start), false);
        for (int ply = 0; ply < 120; ++ply) {
            MoveList moves;
            variant.legal_moves(state, moves);
            if (!moves.size()) break;
            const MayEnd may_end(variant, state);
            for (const Move move : moves) {
                State next = state;
                variant.play(next, move);
                const bool may = may_end(move);
                tried += may;
                ++all;
                CHECK(may || (!variant.has_ended(next) && !variant.checkers(next, next.turn) && next.of(next.turn)),
                      std::string(variant.name));
            }
            variant.play(state, moves[random.below(static_cast<std::uint32_t>(moves.size()))]);
        }
    }
    if (variant.name == "chess" || variant.name == "gardner" || variant.name == "atomic")
        CHECK(tried * 2 < all, std::string(variant.name));
}

std::vector<GameRecord> games(const Variant& variant, int threads, std::size_t slots, std::size_t lanes) {
    SearchConfig search;
    search.gumbel = true;
    PoolConfig config;
    config.variant = &variant;
    config.seed = 4;
    config.fast_visits = 4;
    config.full_probability = 0.5;
    config.random_plies = 6;
    config.temperature = 1;
    config.temperature_plies = 6;
    config.max_plies = 80;
    Pool pool(config, {{search, VISITS, false}, {search, 0, true}}, slots, lanes, threads, 2);
    std::vector<Fixture> fixtures;
    for (std::uint64_t id = 0; id < GAMES; ++id)
        fixtures.push_back({id, "", 0, static_cast<std::uint8_t>(id % 3 == 0)});
    pool.add(std::move(fixtures));
    while (!pool.done())
        for (std::size_t lane = 0; lane < lanes; ++lane)
            for (const std::uint8_t evaluator : {std::uint8_t(0), std::uint8_t(1)}) {
                const LeafBatch batch = pool.gather(evaluator);
                if (batch.size) pool.apply(batch.ticket, find_native_evaluator("fake"));
            }
    return pool.drain();
}

void records(const Variant& variant) {
    const std::string name(variant.name);
    const std::vector<GameRecord> played = games(variant, 2, 8, 2), again = games(variant, 1, 3, 1);
    CHECK(played.size() == GAMES && again.size() == GAMES, name);
    Buffer buffer(variant, 100000, 2);
    Random random(5);
    for (std::size_t i = 0; i < played.size(); ++i) {
        const std::string bytes = write_record(played[i]);
        CHECK(bytes == write_record(again[i]), name);
        CHECK(write_record(read_record(bytes)) == bytes, name);
        buffer.add(read_record(bytes));
        // Damaged bytes are refused, or are another game that can be replayed; they never do harm.
        for (int damage = 0; damage < 40; ++damage) {
            std::string broken = bytes;
            if (damage % 4 == 0)
                broken.resize(random.below(static_cast<std::uint32_t>(bytes.size())));
            else
                broken[random.below(static_cast<std::uint32_t>(bytes.size()))] ^=
                    static_cast<char>(1 << random.below(8));
            try {
                CHECK(write_record(read_record(broken)).size() <= broken.size() + variant.start.size(), name);
            } catch (const Error& error) {
                CHECK(std::string_view(error.kind()) == "RecordError", name);
            }
        }
    }
    if (!buffer.positions()) return;
    const SampleBatch batch = buffer.sample(64, 3, true);
    for (std::size_t row = 0; row < batch.size; ++row) {
        const float result = batch.wdl[row * 3] + batch.wdl[row * 3 + 1] + batch.wdl[row * 3 + 2];
        CHECK(result == batch.value_weight[row], name);
        CHECK(batch.legal_counts[row] > 1, name);
    }
}

}  // namespace

int main() {
    for (const Variant& variant : variants()) {
        searches(variant);
        ends(variant);
        records(variant);
    }
    return finish();
}
