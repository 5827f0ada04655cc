#include "environment.h"

#include <new>

namespace uhop {

Environment::Environment(napi_env env) : env_(env) {
  napi_value name;
  check(napi_create_string_utf8(env, "uhop", NAPI_AUTO_LENGTH, &name));
  check(
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, on_report, &reports_));
  check(napi_unref_threadsafe_function(env, reports_));
  check(napi_set_instance_data(
      env, this, [](napi_env, void* self, void*) { delete static_cast<Environment*>(self); }, nullptr));
  // Hooks run last in, first out: this one before the thread-safe function's own, and before any buffer is freed.
  check(napi_add_env_cleanup_hook(
      env, [](void* self) { static_cast<Environment*>(self)->close(); }, this));
}

Environment& Environment::of(napi_env env) {
  void* self = nullptr;
  check(napi_get_instance_data(env, &self));
  if (self == nullptr) throw Pending{};
  return *static_cast<Environment*>(self);
}

std::uint32_t Environment::start(BoundCall call, napi_value keep) {
  const auto ticket = std::make_shared<Ticket>();
  do {
    ticket->id = ++lastId_;
  } while (tickets_.contains(ticket->id));
  ticket->threads = call.threads;
  ticket->work = std::move(call.work);
  check(napi_create_reference(env_, keep, 1, &ticket->keep));
  try {
    tickets_.emplace(ticket->id, ticket);
    Pool::instance().post([this, ticket] { run(ticket); }, ticket->threads);
  } catch (...) {
    tickets_.erase(ticket->id);
    napi_delete_reference(env_, ticket->keep);
    throw;
  }
  if (tickets_.size() == 1) napi_ref_threadsafe_function(env_, reports_);
  return ticket->id;
}

// On a pool thread. A ticket that is not queued any more was cancelled, and its environment may be gone.
void Environment::run(const TicketPointer& ticket) noexcept {
  State queued = State::queued;
  if (!ticket->state.compare_exchange_strong(queued, State::running)) return;
  try {
    const bool completed = ticket->work(Crew{ticket->threads, &ticket->cancelled});
    ticket->outcome = completed ? Outcome::completed : Outcome::cancelled;
  } catch (...) {
    ticket->outcome = Outcome::outOfMemory;
  }
  const std::lock_guard lock(mutex_);
  ticket->state.store(State::done);
  if (!closing_) report(*ticket);
  done_.notify_all();
}

bool Environment::withdraw(Ticket& ticket) noexcept {
  ticket.cancelled.store(true, std::memory_order_relaxed);
  State queued = State::queued;
  return ticket.state.compare_exchange_strong(queued, State::done);
}

void Environment::report(const Ticket& ticket) noexcept {
  napi_call_threadsafe_function(reports_, reinterpret_cast<void*>(std::uintptr_t(ticket.id)), napi_tsfn_nonblocking);
}

void Environment::on_report(napi_env env, napi_value, void* context, void* data) noexcept {
  if (env != nullptr) static_cast<Environment*>(context)->settle(std::uint32_t(reinterpret_cast<std::uintptr_t>(data)));
}

void Environment::settle(std::uint32_t id) noexcept {
  const auto found = tickets_.find(id);
  if (found == tickets_.end()) return;
  const TicketPointer ticket = found->second;
  tickets_.erase(found);
  if (tickets_.empty()) napi_unref_threadsafe_function(env_, reports_);

  napi_value keep, done, self, outcome;
  std::uint32_t length = 0;
  const bool callable = napi_get_reference_value(env_, ticket->keep, &keep) == napi_ok &&
                        napi_get_array_length(env_, keep, &length) == napi_ok && length > 0 &&
                        napi_get_element(env_, keep, length - 1, &done) == napi_ok &&
                        napi_get_undefined(env_, &self) == napi_ok &&
                        napi_create_int32(env_, int(ticket->outcome), &outcome) == napi_ok;
  napi_delete_reference(env_, ticket->keep);
  if (callable) napi_call_function(env_, self, done, 1, &outcome, nullptr);
}

void Environment::cancel(std::uint32_t id) {
  const auto found = tickets_.find(id);
  if (found != tickets_.end() && withdraw(*found->second)) report(*found->second);
}

void Environment::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  for (const auto& [id, ticket] : tickets_) withdraw(*ticket);
  std::unique_lock lock(mutex_);
  for (const auto& [id, ticket] : tickets_) {
    done_.wait(lock, [&] { return ticket->state.load() == State::done; });
  }
}

}  // namespace uhop
