#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

// One contender of the benchmark as a process that lives through all of it. Lines in, one line out for each:
//
//   (start)             → hello NAME VERSION…
//   OP NUMBERS…         → ok NOTE | no REASON           sets up a case; inputs come from the generator below
//   run R               → SECONDS                       R calls, timed here, so that no pipe is in the time
//   result STRIDE       → every STRIDE-th number of the result, with the digits that tell floats apart
//
// End of input ends the process.

namespace peer {

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float[], FreeDeleter>;

/** `n` floats at a cache line's start. */
inline Buffer allocate(std::size_t n) {
  void* p = std::aligned_alloc(64, (n * sizeof(float) + 64) / 64 * 64);
  if (p == nullptr) throw std::bad_alloc();
  return Buffer(static_cast<float*>(p));
}

/** Operand `seed` of every contender alike: Marsaglia's xorshift32, its upper 24 bits as a number in [-0.5, 0.5). */
inline Buffer random(std::size_t n, std::uint32_t seed) {
  Buffer buffer = allocate(n);
  std::uint32_t state = seed * 2654435761u;
  for (std::size_t i = 0; i < n; ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    buffer[i] = float(state >> 8) * 0x1p-24f - 0.5f;
  }
  return buffer;
}

/** NaN until it is computed, and every page of it touched. */
inline Buffer blank(std::size_t n) {
  Buffer buffer = allocate(n);
  for (std::size_t i = 0; i < n; ++i) buffer[i] = std::numeric_limits<float>::quiet_NaN();
  return buffer;
}

struct Case {
  /** So many calls. */
  std::function<void(long)> run;
  /** Null where nothing is computed. */
  const float* result = nullptr;
  std::size_t length = 0;
  std::string note;
  /** Brings the result to where it is read, after the clock has stopped. */
  std::function<void()> finish = [] {};
};

template <class F>
std::function<void(long)> repeat(F call) {
  return [call](long repeats) {
    for (long i = 0; i < repeats; ++i) call();
  };
}

/** The next number of a line. */
inline long next(std::istream& words) {
  long value;
  if (!(words >> value)) throw std::invalid_argument("a number is missing");
  return value;
}

using Setup = std::function<Case(std::istream&)>;

inline void serve(const std::string& hello, const std::map<std::string, Setup>& ops) {
  std::cout.precision(std::numeric_limits<float>::max_digits10);
  std::cout << "hello " << hello << std::endl;
  Case current;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string op;
    words >> op;
    try {
      if (op == "run") {
        const long repeats = next(words);
        const auto start = std::chrono::steady_clock::now();
        current.run(repeats);
        std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << std::endl;
      } else if (op == "result") {
        const std::size_t stride = std::size_t(next(words));
        current.finish();
        for (std::size_t i = 0; i < current.length; i += stride) std::cout << current.result[i] << ' ';
        std::cout << std::endl;
      } else if (const auto setup = ops.find(op); setup != ops.end()) {
        current = Case();
        current = setup->second(words);
        std::cout << "ok " << current.note << std::endl;
      } else {
        std::cout << "no such case here: " << op << std::endl;
      }
    } catch (const std::exception& error) {
      std::cout << "no " << error.what() << std::endl;
    }
  }
}

}  // namespace peer
