#include "board/perft.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

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

}  // namespace

std::vector<std::pair<Move, std::uint64_t>> divide(const Variant& variant, const State& state, int depth, int threads,
                                                   const Interrupted& interrupted) {
    std::vector<std::pair<Move, std::uint64_t>> result;
    if (depth < 1) return result;
    // One task for each line of two moves, so that all threads have work until the end.
    std::vector<Task> tasks;
    MoveList moves;
    variant.legal_moves(state, moves);
    for (const Move move : moves) {
        State next = state;
        variant.play(next, move);
        if (depth <= 2 || threads == 1) {
            tasks.push_back({.root_move = result.size(), .state = next, .depth = depth - 1});
        } else {
            MoveList replies;
            variant.legal_moves(next, replies);
            for (const Move reply : replies) {
                State after = next;
                variant.play(after, reply);
                tasks.push_back({.root_move = result.size(), .state = after, .depth = depth - 2});
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

}  // namespace selfmate
