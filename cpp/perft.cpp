#include "perft.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fen.h"
#include "numbers.h"

namespace selfmate {
namespace {

// A subtree to count, and the root move it belongs to.
struct Task {
    std::size_t root_move;
    State state;
    int depth;
    std::uint64_t nodes = 0;
};

void count_all(const Variant& variant, std::vector<Task>& tasks, int threads, const Interrupted& interrupted) {
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::condition_variable done;
    int running = threads;
    const auto work = [&] {
        for (std::size_t i; (i = next.fetch_add(1)) < tasks.size() && !stop;)
            tasks[i].nodes = variant.perft(tasks[i].state, tasks[i].depth, stop);
        const std::lock_guard lock(mutex);
        --running;
        done.notify_one();
    };
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back(work);
    std::unique_lock lock(mutex);
    while (!done.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) {
        lock.unlock();
        if (interrupted()) stop = true;
        lock.lock();
    }
}

std::uint64_t signature_of(const Variant& variant, const State& state, int depth) {
    MoveList moves;
    variant.legal_moves(state, moves);
    std::uint64_t sum = mix(state.key + moves.size());
    for (const Move move : moves) {
        State next = state;
        variant.play(next, move);
        const std::uint64_t below = depth > 1 ? signature_of(variant, next, depth - 1) : mix(next.key);
        sum += mix(state.key ^ move.bits()) ^ below;  // a sum, so that the order of generation does not count
    }
    return sum;
}

}  // namespace

std::vector<std::pair<Move, std::uint64_t>> divide(const Variant& variant, const State& state, int depth, int threads,
                                                   const Interrupted& interrupted) {
    std::vector<std::pair<Move, std::uint64_t>> result;
    if (depth < 1) return result;
    // One task for each line of two moves: enough of them to keep all threads busy to the end.
    std::vector<Task> tasks;
    MoveList moves;
    variant.legal_moves(state, moves);
    for (const Move move : moves) {
        State next = state;
        variant.play(next, move);
        if (depth <= 2 || threads == 1) {
            tasks.push_back({result.size(), next, depth - 1});
        } else {
            MoveList replies;
            variant.legal_moves(next, replies);
            for (const Move reply : replies) {
                State after = next;
                variant.play(after, reply);
                tasks.push_back({result.size(), after, depth - 2});
            }
        }
        result.emplace_back(move, 0);
    }
    count_all(variant, tasks, threads, interrupted);
    for (const Task& task : tasks) result[task.root_move].second += task.nodes;
    return result;
}

std::uint64_t perft(const Variant& variant, const State& state, int depth, int threads,
                    const Interrupted& interrupted) {
    if (depth < 4) return variant.perft(state, depth, std::atomic<bool>(false));
    std::uint64_t nodes = 0;
    for (const auto& [move, below] : divide(variant, state, depth, threads, interrupted)) nodes += below;
    return nodes;
}

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
    // 2. Write their moves down until the time is over.
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
    // One busy position beside the start of each variant, for castling, en passant, promotion and the variant's own end.
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
        sum = mix(sum ^ signature_of(variant, state, 3));
    };
    for (const Variant& variant : variants()) add(variant, variant.start);
    for (const auto& [name, fen] : EXTRA) add(*find_variant(name), fen);
    return sum;
}

}  // namespace selfmate
