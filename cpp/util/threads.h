// A few threads that wait for work: `each(n, work)` calls work(i) for every i below n and returns when all are
// done. Which thread does what never shows in a result.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace selfmate {

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// A lock for microseconds: who waits stays awake, for being woken takes longer than what it waits for.
class SpinLock {
public:
    void lock() {
        for (int looks = 0; locked_.exchange(true, std::memory_order_acquire);)
            while (locked_.load(std::memory_order_relaxed))
                if (++looks % LOOKS)
                    pause();
                else
                    std::this_thread::yield();  // on a busy machine its holder may have been put to sleep
    }
    void unlock() { locked_.store(false, std::memory_order_release); }

private:
    static constexpr int LOOKS = 1000;  // tens of microseconds
    std::atomic<bool> locked_ = false;
};

class Threads {
public:
    explicit Threads(int count) {
        for (int i = 1; i < count; ++i) workers_.emplace_back([this](std::stop_token stop) { serve(stop); });
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
        take();
        if (spin([this] { return busy_ == 0; })) return;
        for (int busy; (busy = busy_) != 0;) busy_.wait(busy);
    }

private:
    // Waits a little without sleeping: who sleeps is woken late, and the next round often comes at once.
    template <class Ready>
    static bool spin(Ready ready) {
        for (int i = 0; i < SPINS; ++i) {
            if (ready()) return true;
            pause();
        }
        return false;
    }
    static constexpr int SPINS = 1000;  // tens of microseconds

    // Shares of some items at a time: threads that fetch single ones would wait for each other.
    void take() {
        const std::size_t share = std::max<std::size_t>(1, size_ / (16 * static_cast<std::size_t>(size())));
        for (std::size_t first; (first = next_.fetch_add(share)) < size_;)
            for (std::size_t i = first; i < std::min(first + share, size_); ++i) (*work_)(i);
    }

    void serve(const std::stop_token& stop) {
        std::uint32_t seen = 0;
        for (;;) {
            if (!spin([&] { return round_ != seen; })) round_.wait(seen);
            seen = round_;  // the work of this round was written before it; the next begins when nobody is busy
            if (stop.stop_requested()) return;
            take();
            if (--busy_ == 0) busy_.notify_one();
        }
    }

    const std::function<void(std::size_t)>* work_ = nullptr;
    std::size_t size_ = 0;
    std::atomic<std::size_t> next_ = 0;
    std::atomic<int> busy_ = 0;
    std::atomic<std::uint32_t> round_ = 0;  // 32 bits: what a kernel can wait for
    std::vector<std::jthread> workers_;
};

}  // namespace selfmate
