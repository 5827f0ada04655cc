#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <type_traits>
#include <vector>

namespace uhop {

/**
 * The threads of the process, shared by every call of every environment. A thread that calls `parallel` works on its
 * own call, helpers join while fewer than `limit` threads are busy in the whole process, so several calls at once share
 * the cores instead of multiplying the threads. Jobs given to `post` run on the same threads and are preferred to
 * helping. Threads start when first needed, spin for a moment when idle, then sleep; they live as long as the process.
 */
class Pool {
 public:
  static Pool& instance();

  /** Runs `job` on a pool thread; at most `limit` threads are busy with jobs and helping. Throws std::system_error. */
  void post(std::function<void()> job, unsigned limit);

  /** task(i, slot) for i < count, on the calling thread (slot 0) and up to limit - 1 helpers (slots below limit). */
  using Task = void (*)(void* context, std::size_t index, unsigned slot);
  void parallel(std::size_t count, unsigned limit, Task task, void* context, const std::atomic<bool>* cancel);

 private:
  struct Team {
    std::size_t count;
    unsigned limit;
    Task task;
    void* context;
    const std::atomic<bool>* cancel;
    std::atomic<std::size_t> next{0};
    unsigned slots = 1;
    std::atomic<unsigned> helpers{0};  // changed under the pool's lock only

    void work(unsigned slot);
  };
  struct Job {
    std::function<void()> run;
    unsigned limit;
  };

  Pool() = default;
  void grow(unsigned threads);
  void loop();
  bool take_turn(std::unique_lock<std::mutex>& lock);
  void announce();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable left_;
  std::vector<Team*> teams_;
  std::deque<Job> jobs_;
  unsigned threads_ = 0;
  unsigned busy_ = 0;
  unsigned sleeping_ = 0;
  std::atomic<unsigned> news_{0};
};

/** The threads one call may use, and its cancel flag. */
struct Crew {
  unsigned threads = 1;
  const std::atomic<bool>* cancel = nullptr;

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }

  /** As many of the threads as the work keeps busy, each with `worth` of it at least. */
  Crew part_for(double work, double worth) const {
    return {unsigned(std::clamp(work / worth, 1.0, double(threads))), cancel};
  }

  /** f(index, slot) for every index < count; false when cancelled, with some indices left out. f must not throw. */
  template <class F>
  bool each(std::size_t count, F&& f) const {
    if (threads <= 1 || count <= 1) {
      for (std::size_t i = 0; i < count && !cancelled(); ++i) f(i, 0u);
    } else {
      Pool::instance().parallel(
          count, threads,
          [](void* context, std::size_t i, unsigned slot) {
            (*static_cast<std::remove_reference_t<F>*>(context))(i, slot);
          },
          &f, cancel);
    }
    return !cancelled();
  }
};

}  // namespace uhop
