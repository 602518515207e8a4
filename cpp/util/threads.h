// A spin lock, and a pool of threads for short parallel loops.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace selfmate {

// The logical processors that this process may use; `std::thread::hardware_concurrency` counts those of the machine.
inline int available_cores() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// A lock for critical sections of microseconds. Waiting threads spin, because a futex wake-up takes longer than the
// section.
class SpinLock {
public:
    void lock() {
        for (int spins = 0; locked_.exchange(true, std::memory_order_acquire);)
            while (locked_.load(std::memory_order_relaxed))
                if (++spins % SPINS_PER_YIELD)
                    pause();
                else
                    std::this_thread::yield();  // the holder may have been descheduled on a busy machine
    }
    void unlock() { locked_.store(false, std::memory_order_release); }

private:
    static constexpr int SPINS_PER_YIELD = 1000;  // tens of microseconds
    std::atomic<bool> locked_ = false;
};

// Owns `count - 1` worker threads; the calling thread is the last one. `each(n, work)` calls work(i) once for every
// i < n and returns when all calls have returned. One caller at a time. The assignment of indices to threads is not
// deterministic, so `work` must not depend on it.
class Threads {
public:
    explicit Threads(int count) {
        for (int i = 1; i < count; ++i) workers_.emplace_back([this](std::stop_token stop) { run_worker(stop); });
    }
    ~Threads() {
        for (std::jthread& worker : workers_) worker.request_stop();
        ++round_;
        round_.notify_all();
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    int size() const { return static_cast<int>(workers_.size()) + 1; }

    void each(std::size_t n, const std::function<void(std::size_t)>& work) {
        if (workers_.empty() || n < 2) {
            for (std::size_t i = 0; i < n; ++i) work(i);
            return;
        }
        work_ = &work;
        size_ = n;
        next_ = 0;
        busy_ = static_cast<int>(workers_.size());
        ++round_;
        round_.notify_all();
        work_off_chunks();
        if (spin_until([this] { return busy_ == 0; })) return;
        for (int busy; (busy = busy_) != 0;) busy_.wait(busy);
    }

private:
    // Spin before blocking: a futex wake-up is slow, and the next round often begins within microseconds. Returns
    // whether the condition became true.
    template <class Condition>
    static bool spin_until(Condition condition) {
        for (int i = 0; i < SPINS_BEFORE_BLOCKING; ++i) {
            if (condition()) return true;
            pause();
        }
        return false;
    }
    static constexpr int SPINS_BEFORE_BLOCKING = 1000;  // tens of microseconds

    // Chunks of several indices reduce contention on `next_`.
    void work_off_chunks() {
        const std::size_t chunk = std::max<std::size_t>(1, size_ / (16 * static_cast<std::size_t>(size())));
        for (std::size_t first; (first = next_.fetch_add(chunk)) < size_;)
            for (std::size_t i = first; i < std::min(first + chunk, size_); ++i) (*work_)(i);
    }

    void run_worker(const std::stop_token& stop) {
        std::uint32_t seen = 0;
        for (;;) {
            if (!spin_until([&] { return round_ != seen; })) round_.wait(seen);
            seen = round_;  // `work_` and `size_` were written before; the next round begins when `busy_` is 0
            if (stop.stop_requested()) return;
            work_off_chunks();
            if (--busy_ == 0) busy_.notify_one();
        }
    }

    const std::function<void(std::size_t)>* work_ = nullptr;
    std::size_t size_ = 0;
    std::atomic<std::size_t> next_ = 0;     // first index that no thread has taken
    std::atomic<int> busy_ = 0;             // workers that have not finished this round
    std::atomic<std::uint32_t> round_ = 0;  // 32 bits: the size of a futex
    std::vector<std::jthread> workers_;
};

}  // namespace selfmate
