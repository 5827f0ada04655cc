#pragma once
#include <cstddef>

namespace uhop {

/** Cache lines, and the widest vectors. */
constexpr std::size_t kAlignment = 64;

/** Asks for huge pages under memory that has not been touched yet, where the system has them. */
void prefer_huge_pages(void* data, std::size_t bytes);

/** A 64-byte aligned buffer on loan from the process's pool; its content is whatever the last borrower left. */
class Scratch {
 public:
  Scratch() = default;
  /** Throws std::bad_alloc. */
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  Scratch(const Scratch&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace uhop
