#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <new>

namespace uhop::check {

namespace {

std::size_t page_size() {
  static const std::size_t bytes = std::size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

const char* volatile running = "?";
thread_local sigjmp_buf* landing = nullptr;

void say(const char* text) {
  if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(2);
}

void on_fault(int) {
  if (landing != nullptr) siglongjmp(*landing, 1);
  say("FAIL ");
  say(running);
  say(": touched memory outside of its operands\n");
  _exit(1);
}

}  // namespace

Fenced::~Fenced() {
  if (first_ != nullptr) munmap(first_ - page_size(), room_ + 2 * page_size());
}

void* Fenced::bytes(std::size_t size, bool atEnd) {
  const std::size_t page = page_size();
  if (first_ == nullptr || size > room_) {
    if (first_ != nullptr) munmap(first_ - page, room_ + 2 * page);
    room_ = (size / page + 1) * page;
    void* const all = mmap(nullptr, room_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    first_ = static_cast<char*>(all) + page;
    if (mprotect(first_, room_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  return atEnd ? first_ + room_ - size : first_;
}

void name_faults(const char* name) {
  running = name;
  static bool installed = false;
  if (installed) return;
  installed = true;
  struct sigaction action {};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

bool survives(void (*run)(const void* context), const void* context) {
  sigjmp_buf here;
  if (sigsetjmp(here, 1) != 0) {
    landing = nullptr;
    return false;
  }
  landing = &here;
  run(context);
  landing = nullptr;
  return true;
}

}  // namespace uhop::check
