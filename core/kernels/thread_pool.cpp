#include "core/kernels/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace vitrine::kernels {
namespace {

constexpr int kSpins = 4000;  // about 40 microseconds
constexpr std::int64_t kPiecesPerThread = 4;

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

int cores_of_this_process() {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

// Workers that help with one region after another. state_ says whether a region is open (lowest bit clear), how many
// workers are inside (the next 15 bits) and, above, which region it is; so a worker enters by one compare-and-swap, a
// late one finds the door closed and goes back to sleep, and the caller never waits for a worker that has not entered.
class Pool {
public:
    explicit Pool(int workers) {
        for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { serve(); });
    }

    ~Pool() {
        quit_ = true;
        state_.fetch_add(kNextRegion);
        state_.notify_all();
    }

    void run(std::int64_t begin, std::int64_t end, std::int64_t piece,
             const std::function<void(std::int64_t, std::int64_t)>& body) {
        body_ = &body;
        end_ = end;
        piece_ = piece;
        next_.store(begin, std::memory_order_relaxed);
        failure_ = nullptr;
        state_.store((state_.load() | kClosed) + kNextRegion - kClosed);  // the next region, open, nobody inside
        state_.notify_all();
        work();
        std::uint64_t state = state_.fetch_or(kClosed) | kClosed;
        for (int spins = 0; (state & kInside) != 0; ++spins) {
            if (spins < kSpins)
                pause();
            else
                state_.wait(state);
            state = state_.load();
        }
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    static constexpr std::uint64_t kClosed = 1;
    static constexpr std::uint64_t kOneInside = 2;
    static constexpr std::uint64_t kInside = 0xFFFE;
    static constexpr std::uint64_t kNextRegion = 0x10000;

    void work() {
        try {
            while (true) {
                const std::int64_t first = next_.fetch_add(piece_, std::memory_order_relaxed);
                if (first >= end_) return;
                (*body_)(first, std::min(first + piece_, end_));
            }
        } catch (...) {
            next_.store(end_, std::memory_order_relaxed);
            const std::lock_guard lock(failure_mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }

    void serve() {
        std::uint64_t seen = kClosed;
        int spins = 0;
        while (!quit_) {
            std::uint64_t state = state_.load();
            const bool entered = (state & kClosed) == 0 && region(state) != region(seen) &&
                                 state_.compare_exchange_weak(state, state + kOneInside);
            if (entered) {
                seen = state;
                work();
                state_.fetch_sub(kOneInside);
                state_.notify_all();
                spins = 0;
            } else if ((state & kClosed) == 0 && region(state) != region(seen)) {
                continue;  // another worker entered between the look and the step
            } else if (++spins < kSpins) {
                pause();
            } else {
                state_.wait(state);
                spins = 0;
            }
        }
    }

    static std::uint64_t region(std::uint64_t state) { return state / kNextRegion; }

    std::atomic<std::uint64_t> state_{kClosed};
    std::atomic<std::int64_t> next_{0};
    std::atomic<bool> quit_{false};
    const std::function<void(std::int64_t, std::int64_t)>* body_ = nullptr;
    std::int64_t end_ = 0;
    std::int64_t piece_ = 1;
    std::mutex failure_mutex_;
    std::exception_ptr failure_;
    std::vector<std::jthread> workers_;  // last: joined before the rest goes
};

std::mutex region_mutex;
std::atomic<int> wanted_threads{0};  // 0: not set yet
std::unique_ptr<Pool> pool;          // guarded by region_mutex
int pool_threads = 1;

}  // namespace

void set_num_threads(int threads) {
    wanted_threads = std::max(1, threads);
}

int num_threads() {
    int unset = 0;
    if (wanted_threads == 0) wanted_threads.compare_exchange_strong(unset, cores_of_this_process());
    return wanted_threads;
}

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
    if (begin >= end) return;
    const std::int64_t count = end - begin;
    const std::int64_t most_pieces = (count + std::max<std::int64_t>(grain, 1) - 1) / std::max<std::int64_t>(grain, 1);
    const int threads = num_threads();
    thread_local bool inside = false;
    if (threads == 1 || most_pieces == 1 || inside) return body(begin, end);
    const std::unique_lock lock(region_mutex, std::try_to_lock);
    if (!lock.owns_lock()) return body(begin, end);

    if (pool_threads != threads) {
        pool.reset();
        pool = std::make_unique<Pool>(threads - 1);
        pool_threads = threads;
    }
    const std::int64_t pieces = std::min<std::int64_t>(most_pieces, threads * kPiecesPerThread);
    struct Inside {
        bool& flag;
        explicit Inside(bool& flag_) : flag(flag_) { flag = true; }
        ~Inside() { flag = false; }
    } const guard(inside);
    pool->run(begin, end, (count + pieces - 1) / pieces, body);
}

}  // namespace vitrine::kernels
