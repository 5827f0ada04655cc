#pragma once
#include <node_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "work.h"

namespace uhop {

/** What `done` is called with. */
enum class Outcome : int { completed = 0, cancelled = 1, outOfMemory = 2 };

/**
 * The calls in flight of one environment (the main thread or one worker_thread).
 *
 * A ticket is queued until a pool thread takes it (running) or a cancel does (done). A running ticket is done when its
 * thread has let go of the buffers for good. The JS thread then learns of it through the thread-safe function, calls
 * `done` and drops the references that kept the buffers alive. The thread-safe function holds the event loop open only
 * while tickets exist.
 *
 * When the environment goes away, `close` cancels every ticket and waits for the running ones: after it no thread
 * touches a buffer of this environment.
 */
class Environment {
 public:
  explicit Environment(napi_env env);

  static Environment& of(napi_env env);

  /** Queues the call; `keep` holds its buffers and `done`, an array whose last element is the callback. */
  std::uint32_t start(BoundCall call, napi_value keep);
  /** Cancels a call between two tiles; does nothing when it is over. */
  void cancel(std::uint32_t id);
  void close() noexcept;

 private:
  enum class State { queued, running, done };
  struct Ticket {
    std::uint32_t id;
    unsigned threads;
    Work work;
    napi_ref keep = nullptr;
    std::atomic<State> state{State::queued};
    std::atomic<bool> cancelled{false};
    Outcome outcome = Outcome::cancelled;
  };
  using TicketPointer = std::shared_ptr<Ticket>;

  void run(const TicketPointer& ticket) noexcept;
  bool withdraw(Ticket& ticket) noexcept;
  void report(const Ticket& ticket) noexcept;
  void settle(std::uint32_t id) noexcept;
  static void on_report(napi_env env, napi_value, void* context, void* data) noexcept;

  napi_env env_;
  napi_threadsafe_function reports_ = nullptr;
  std::unordered_map<std::uint32_t, TicketPointer> tickets_;  // JS thread only
  std::uint32_t lastId_ = 0;

  std::mutex mutex_;
  std::condition_variable done_;
  bool closing_ = false;
};

}  // namespace uhop
