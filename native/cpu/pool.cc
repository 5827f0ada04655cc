#include "pool.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace uhop {

namespace {

constexpr int kIdleSpins = 8000;
constexpr unsigned kMostThreads = 512;

// A thread that already counts as busy does not count again when its job calls `parallel`.
thread_local bool counted = false;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Never destroyed: threads may still be asleep in it while the process runs its exit handlers.
Pool& Pool::instance() {
  static Pool* const pool = new Pool;
  return *pool;
}

void Pool::Team::work(unsigned slot) {
  for (;;) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
    const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
    if (i >= count) return;
    task(context, i, slot);
  }
}

void Pool::grow(unsigned threads) {
  threads = threads < kMostThreads ? threads : kMostThreads;
  while (threads_ < threads) {
    std::thread([this] { loop(); }).detach();
    ++threads_;
  }
}

void Pool::announce() {
  news_.fetch_add(1, std::memory_order_release);
  if (sleeping_ > 0) wake_.notify_all();
}

void Pool::post(std::function<void()> job, unsigned limit) {
  const std::lock_guard lock(mutex_);
  try {
    grow(limit);
  } catch (const std::system_error&) {
    if (threads_ == 0) throw;
  }
  jobs_.push_back({std::move(job), limit});
  announce();
}

void Pool::parallel(std::size_t count, unsigned limit, Task task, void* context, const std::atomic<bool>* cancel) {
  Team team{count, limit, task, context, cancel};
  const bool counts = !counted;
  {
    const std::lock_guard lock(mutex_);
    try {
      grow(limit - 1);
    } catch (const std::system_error&) {
      // Fewer helpers than hoped for: the call is slower, its answer is the same.
    }
    teams_.push_back(&team);
    busy_ += counts;
    announce();
  }
  team.work(0);
  for (int spins = 0; spins < kIdleSpins && team.helpers.load(std::memory_order_acquire) > 0; ++spins) relax();
  std::unique_lock lock(mutex_);
  teams_.erase(std::find(teams_.begin(), teams_.end(), &team));
  left_.wait(lock, [&] { return team.helpers.load(std::memory_order_relaxed) == 0; });
  busy_ -= counts;
  if (counts && !jobs_.empty()) announce();
}

// Runs one job or helps one team, if there is one that may have another thread; gives the lock away meanwhile.
bool Pool::take_turn(std::unique_lock<std::mutex>& lock) {
  if (!jobs_.empty() && busy_ < jobs_.front().limit) {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    ++busy_;
    lock.unlock();
    job.run();
    lock.lock();
    --busy_;
    return true;
  }
  for (Team* team : teams_) {
    if (team->slots >= team->limit || busy_ >= team->limit) continue;
    if (team->next.load(std::memory_order_relaxed) >= team->count) continue;
    const unsigned slot = team->slots++;
    team->helpers.fetch_add(1, std::memory_order_relaxed);
    ++busy_;
    lock.unlock();
    team->work(slot);
    lock.lock();
    --busy_;
    if (team->helpers.fetch_sub(1, std::memory_order_release) == 1) left_.notify_all();
    return true;
  }
  return false;
}

void Pool::loop() {
  counted = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    const unsigned seen = news_.load(std::memory_order_relaxed);
    if (take_turn(lock)) continue;
    lock.unlock();
    int spins = 0;
    while (spins < kIdleSpins && news_.load(std::memory_order_acquire) == seen) {
      relax();
      ++spins;
    }
    lock.lock();
    if (news_.load(std::memory_order_relaxed) != seen) continue;
    ++sleeping_;
    wake_.wait(lock, [&] { return news_.load(std::memory_order_relaxed) != seen; });
    --sleeping_;
  }
}

}  // namespace uhop
