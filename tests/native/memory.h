#pragma once
#include <cstddef>
#include <vector>

#include "numbers.h"

namespace uhop::check {

/** Room for one operand between two pages that nobody may touch. */
class Fenced {
 public:
  Fenced() = default;
  ~Fenced();
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  /** `count` elements up to the page behind, or from the page before on. What an earlier call gave is void. */
  template <class T>
  T* place(std::size_t count, bool atEnd) {
    return static_cast<T*>(bytes(count * sizeof(T), atEnd));
  }

 private:
  void* bytes(std::size_t size, bool atEnd);

  char* first_ = nullptr;
  std::size_t room_ = 0;
};

/** Room for a result, which begins as NaN, between elements that must stay as they are. */
template <class T>
class Guarded {
 public:
  T* prepare(std::size_t count, std::size_t offset) {
    from_ = kGuard + offset;
    count_ = count;
    elements_.assign(from_ + count + kGuard, untouched<T>());
    return elements_.data() + from_;
  }
  const T* data() const { return elements_.data() + from_; }
  std::size_t count() const { return count_; }
  bool intact() const {
    const auto whole = [](T x) { return bits_of(x) == bits_of(untouched<T>()); };
    for (std::size_t i = 0; i < from_; ++i) {
      if (!whole(elements_[i])) return false;
    }
    for (std::size_t i = from_ + count_; i < elements_.size(); ++i) {
      if (!whole(elements_[i])) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  std::vector<T> elements_;
  std::size_t from_ = 0;
  std::size_t count_ = 0;
};

/** From here on a forbidden access ends the process with a FAIL line for `name`, which must stay valid. */
void name_faults(const char* name);

/** False when `run(context)` touched a fence. Nothing that it calls may hold a lock or need to be unwound. */
bool survives(void (*run)(const void* context), const void* context);

template <class F>
bool survives(const F& run) {
  return survives([](const void* f) { (*static_cast<const F*>(f))(); }, &run);
}

}  // namespace uhop::check
