#include "bench/bench.h"

#include <bit>
#include <chrono>
#include <vector>

#include "board/fen.h"
#include "search/pool.h"
#include "search/search.h"
#include "util/random.h"

namespace selfmate {
namespace {

std::uint64_t tree_signature(const Variant& variant, const State& state, int depth) {
    MoveList moves;
    variant.legal_moves(state, moves);
    std::uint64_t sum = mix(state.key + moves.size());
    for (const Move move : moves) {
        State next = state;
        variant.play(next, move);
        const std::uint64_t below = depth > 1 ? tree_signature(variant, next, depth - 1) : mix(next.key);
        sum += mix(state.key ^ move.bits()) ^ below;  // a sum does not depend on the order of generation
    }
    return sum;
}

std::uint64_t search_signature(const Variant& variant, const State& state, bool gumbel) {
    const SearchConfig config{.gumbel = gumbel, .stop_when_proven = false};
    Search search;
    search.begin({.variant = variant, .root = state, .config = config, .visits = gumbel ? 64u : 300u, .seed = 1});
    search.run(find_native_evaluator("fake"));
    std::uint64_t sum = 0;
    for (const MoveStats& stats : search.moves()) sum += mix(stats.move.bits() ^ mix(stats.visits));
    return mix(sum ^ search.tree().nodes.size());
}

// Everything but the scores in centipawns, which come from libm.
std::uint64_t signature_of(const GameRecord& game) {
    std::uint64_t sum = mix(game.id << 16 | game.random_plies);
    const auto add = [&](std::uint64_t number) { sum = mix(sum ^ number); };
    for (const Move move : game.moves) add(move.bits());
    add(game.outcome ? 256 + 16 * static_cast<std::uint64_t>(game.outcome->winner) +
                           static_cast<std::uint64_t>(game.outcome->termination)
                     : 0);
    for (const TrainedPosition& position : game.positions) {
        add(position.ply);
        add(std::bit_cast<std::uint32_t>(position.value));
        add(std::bit_cast<std::uint32_t>(position.net_value));
        std::uint64_t targets = 0;  // a sum: they are keyed by move, not by order
        for (const Target& target : position.targets)
            targets += mix(target.move.bits() ^ mix(target.visits ^ mix(std::bit_cast<std::uint32_t>(target.weight))));
        add(targets);
    }
    return sum;
}

}  // namespace

Rate generation_rate(const Variant& variant, std::size_t positions, std::uint64_t seed, double seconds) {
    using Clock = std::chrono::steady_clock;
    // 1. Positions from random games of at most 200 plies.
    const State start = validate(parse_fen(variant, false, variant.start), false);
    std::vector<State> states;
    State state = start;
    Random random(seed);
    for (int ply = 0; states.size() < positions; ++ply) {
        MoveList moves;
        variant.legal_moves(state, moves);
        if (!moves.size() || ply == 200) {
            state = start;
            ply = 0;
            continue;
        }
        states.push_back(state);
        variant.play(state, moves[random.below(static_cast<std::uint32_t>(moves.size()))]);
    }
    // 2. Generate their moves until the time is over.
    std::size_t generated = 0, visited = 0;
    const auto begin = Clock::now();
    double elapsed = 0;
    while (elapsed < seconds) {
        for (const State& each : states) {
            MoveList moves;
            variant.legal_moves(each, moves);
            generated += moves.size();
        }
        visited += states.size();
        elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return {static_cast<double>(visited) / elapsed, static_cast<double>(generated) / elapsed};
}

std::uint64_t signature() {
    // Positions beside the start of each variant, for castling, en passant, promotion and the variant's own end.
    static constexpr std::pair<std::string_view, std::string_view> EXTRA[] = {
        {"chess", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"},
        {"atomic", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"},
        {"atomic", "8/8/1P6/6P1/1Pp5/k7/6P1/1K6 b - b3 0 1"},
        {"gardner", "2b1k/P1P1P/5/p1p1p/K1B2 w - - 0 1"},
        {"antichess", "8/PPP4k/8/8/8/8/4Kppp/8 w - - 0 1"},
        {"kingofthehill", "5kn1/2ppb3/4r2p/pp6/P2PbK2/1P5P/2P2P2/RR6 w - - 1 29"},
        {"3check", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 2+1 0 1"},
        {"racingkings", "3q1Q1b/5K2/R3R3/8/1r6/1k6/8/8 b - - 22 25"},
        {"horde", "r1b1kbnr/1pn1Bp1p/p5pP/1PPp1PP1/P1PPPPP1/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq d6 0 8"},
    };
    std::uint64_t sum = 0;
    const auto add = [&](const Variant& variant, std::string_view fen) {
        const State state = validate(parse_fen(variant, false, fen), false);
        sum = mix(sum ^ tree_signature(variant, state, 3));
        for (const bool gumbel : {false, true}) sum = mix(sum ^ search_signature(variant, state, gumbel));
    };
    for (const Variant& variant : variants()) add(variant, variant.start);
    for (const auto& [name, fen] : EXTRA) add(*find_variant(name), fen);
    return sum;
}

std::size_t observe_random_games(const Variant& variant, std::uint64_t seed, std::size_t moves) {
    constexpr std::size_t MAX_PLIES = 512;
    const Encoding encoding = encoding_of(variant);
    const State start = validate(parse_fen(variant, false, variant.start), false);
    std::vector<float> planes(static_cast<std::size_t>(DENSE_PLANES * encoding.squares));
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(encoding.policy_size));
    std::vector<std::uint16_t> indices;
    std::vector<Key> keys;
    State state = start;
    MoveList legal;
    variant.legal_moves(state, legal);
    Random random(seed);
    std::size_t games = 0;
    for (std::size_t i = 0; i < moves; ++i) {
        // 1. A random move, and a new game after the end of one.
        keys.push_back(state.key);
        variant.play(state, legal[random.below(static_cast<std::uint32_t>(legal.size()))]);
        if (keys.size() >= MAX_PLIES || outcome(variant, state, keys, true)) {
            state = start;
            keys.clear();
            ++games;
        }
        // 2. Planes and mask.
        Bitboard bits[BITBOARDS];
        float scalars[SCALARS];
        encode(variant, state, repetitions(state, keys) > 1, bits, scalars);
        write_planes(variant, bits, scalars, planes.data());
        legal.clear();
        variant.legal_moves(state, legal);
        indices.clear();
        for (const Move move : legal) indices.push_back(move_index(variant, move, state.turn));
        write_mask(encoding, indices, mask.data());
    }
    return games;
}

std::uint64_t selfplay_signature() {
    constexpr std::uint64_t GAMES = 8;
    std::uint64_t sum = 0;
    for (const Variant& variant : variants())
        for (const bool gumbel : {false, true}) {
            const PoolConfig config{.variant = &variant,
                                    .seed = 1,
                                    .selfplay = {.fast_visits = 5,
                                                 .full_probability = 0.5,
                                                 .random_plies = 4,
                                                 .temperature = 0.8,
                                                 .temperature_plies = 16,
                                                 .max_plies = 80},
                                    .slots = GAMES};
            const SearchConfig search{.gumbel = gumbel, .noise_alpha = 0.3f, .noise_epsilon = 0.25f};
            Pool pool(config, {Seat{.search = search, .visits = 24}});
            std::vector<GameSpec> games;
            for (std::uint64_t game = 0; game < GAMES; ++game) games.push_back({.id = game});
            pool.add(std::move(games));
            pool.run(find_native_evaluator("fake"));
            for (const GameRecord& game : pool.drain()) sum = mix(sum ^ signature_of(game));
        }
    return sum;
}

}  // namespace selfmate
