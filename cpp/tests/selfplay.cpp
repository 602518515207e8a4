// Invariants of search, self-play, records and buffer in every variant; most useful with sanitizers.
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
            const SearchConfig config{.gumbel = gumbel, .noise_epsilon = 0.25f};
            Search search;
            search.begin({.variant = variant, .root = start, .config = config, .visits = 300, .seed = 9});
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
                CHECK(!node.in_flight && !node.unevaluated, std::string(variant.name));
        }
}

// A move that the filter excludes neither gives check nor ends the game.
void terminal_moves(const Variant& variant) {
    Random random(11);
    std::size_t tried = 0, all = 0;
    for (int game = 0; game < 40 / SHARE; ++game) {
        State state = validate(parse_fen(variant, false, variant.start), false);
        for (int ply = 0; ply < 120; ++ply) {
            MoveList moves;
            variant.legal_moves(state, moves);
            if (!moves.size()) break;
            const TerminalMoveFilter may_end(variant, state);
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
    const PoolConfig config{.variant = &variant,
                            .seed = 4,
                            .selfplay = {.fast_visits = 4,
                                         .full_probability = 0.5,
                                         .random_plies = 6,
                                         .temperature = 1,
                                         .temperature_plies = 6,
                                         .max_plies = 80},
                            .slots = slots,
                            .lanes = lanes,
                            .threads = threads,
                            .leaves_per_slot = 2};
    const SearchConfig search{.gumbel = true};
    Pool pool(config, {Seat{.search = search, .visits = VISITS}, Seat{.search = search, .visits = 0}});
    CHECK(pool.evaluators() == 1, std::string(variant.name));  // the random seat needs none
    std::vector<GameSpec> specs;
    for (std::uint64_t id = 0; id < GAMES; ++id)
        specs.push_back({.id = id, .black_seat = static_cast<std::uint8_t>(id % 3 == 0)});
    pool.add(std::move(specs));
    while (!pool.done())
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const LeafBatch batch = pool.gather(0);
            if (batch.size) pool.apply(batch.ticket, find_native_evaluator("fake"));
        }
    return pool.drain();
}

// In every third game Black plays random moves: they have no score and are not trained on, those of a search are.
void random_seat(const GameRecord& game, std::size_t& searched, std::size_t& random) {
    const std::string where = std::string(game.variant->name) + " " + std::to_string(game.id);
    CHECK(game.white_seat == 0 && game.black_seat == (game.id % 3 == 0 ? 1 : 0), where);
    const auto moved_at_random = [&](std::size_t ply) {
        return ply < game.random_plies || (game.black_seat == 1 && ply % 2 == 1);
    };
    CHECK(game.scores.size() == game.moves.size(), where);
    for (std::size_t ply = 0; ply < game.moves.size(); ++ply) {
        CHECK(game.scores[ply].has_value() != moved_at_random(ply), where);
        ++(moved_at_random(ply) ? random : searched);
    }
    for (const TrainedPosition& position : game.positions) CHECK(!moved_at_random(position.ply), where);
}

// Every record is rounded once: reading and writing again gives the same bytes, for any values, also where the share of
// draws is near what the value leaves, or above it.
void rounded_once(GameRecord game) {
    Random random(13);
    const auto share = [&] { return static_cast<float>(random.below(1 << 24)) / static_cast<float>((1 << 24) - 1); };
    std::size_t full = 0, other = 0;
    for (int round = 0; round < 200 / SHARE; ++round) {
        for (TrainedPosition& position : game.positions) {
            position.value = 2 * share() - 1;
            const float most = 1 - std::abs(position.value);
            const float near = most + (share() - 0.5f) / 64;
            position.draw = std::clamp(random.below(2) ? near : share() * most, 0.0f, 1.0f);
            position.net_value = 2 * share() - 1;
            for (Target& target : position.targets) target = {target.move, random.below(300), share()};
        }
        if (!game.outcome) game.judgement = Judgement{.value = 2 * share() - 1, .draw = share()};
        const std::string bytes = write_record(game);
        const GameRecord read = read_record(bytes);
        CHECK(write_record(read) == bytes, std::string(game.variant->name));
        for (std::size_t i = 0; i < read.positions.size(); ++i) {
            const TrainedPosition &before = game.positions[i], &after = read.positions[i];
            CHECK(std::abs(after.value - before.value) <= 0.501f / 127, std::string(game.variant->name));
            const float most = 1 - std::abs(after.value), kept = std::min(before.draw, 1 - std::abs(before.value));
            CHECK(after.draw <= most && std::abs(after.draw - kept) <= 0.501f / 127 + 0.501f / 255,
                  std::string(game.variant->name));
            ++(after.draw == most ? full : other);
        }
    }
    CHECK(full && other, std::string(game.variant->name));
}

void records(const Variant& variant) {
    const std::string name(variant.name);
    const std::vector<GameRecord> played = games(variant, 2, 8, 2), again = games(variant, 1, 3, 1);
    CHECK(played.size() == GAMES && again.size() == GAMES, name);
    std::size_t searched = 0, at_random = 0;
    for (const GameRecord& game : played) random_seat(game, searched, at_random);
    for (const std::size_t game : {std::size_t{0}, std::size_t{1}})
        if (!played[game].positions.empty()) rounded_once(played[game]);
    CHECK(searched && at_random, name);
    Buffer buffer(variant, 100000, 2);
    Random random(5);
    for (std::size_t i = 0; i < played.size(); ++i) {
        const std::string bytes = write_record(played[i]);
        CHECK(bytes == write_record(again[i]), name);
        CHECK(write_record(read_record(bytes)) == bytes, name);
        buffer.add(read_record(bytes));
        // Damaged bytes raise RecordError, or are another valid game.
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
        terminal_moves(variant);
        records(variant);
    }
    return finish();
}
