// What this machine could do at the most: fused multiply-adds in registers, copying memory, and only reading it.
#include <cstring>
#include <thread>
#include <vector>

#include "peer.h"

using namespace peer;

namespace {

/** Enough independent sums to hide the latency of an addition, few enough for sixteen registers. */
constexpr int SUMS = 12;

#define UHOP_MULTIPLY_ADD(name, bytes, attributes)                                        \
  attributes float name(long rounds) {                                                    \
    typedef float Vector __attribute__((vector_size(bytes)));                             \
    const Vector factor = Vector{} + 0.999f, term = Vector{} + 1e-4f;                     \
    Vector s0 = term, s1 = s0 + term, s2 = s1 + term, s3 = s2 + term;                     \
    Vector s4 = s3 + term, s5 = s4 + term, s6 = s5 + term, s7 = s6 + term;                \
    Vector s8 = s7 + term, s9 = s8 + term, s10 = s9 + term, s11 = s10 + term;             \
    for (long i = 0; i < rounds; ++i) {                                                   \
      s0 = s0 * factor + term, s1 = s1 * factor + term, s2 = s2 * factor + term;          \
      s3 = s3 * factor + term, s4 = s4 * factor + term, s5 = s5 * factor + term;          \
      s6 = s6 * factor + term, s7 = s7 * factor + term, s8 = s8 * factor + term;          \
      s9 = s9 * factor + term, s10 = s10 * factor + term, s11 = s11 * factor + term;      \
    }                                                                                     \
    const Vector low = s0 + s1 + s2 + s3 + s4 + s5, high = s6 + s7 + s8 + s9 + s10 + s11; \
    return (low + high)[0];                                                               \
  }

#if defined(__x86_64__)
UHOP_MULTIPLY_ADD(avx512, 64, __attribute__((target("avx512f"))))
UHOP_MULTIPLY_ADD(avx2, 32, __attribute__((target("avx2,fma"))))
#endif
UHOP_MULTIPLY_ADD(narrow, 16, )

struct Widest {
  const char* name;
  long lanes;
  float (*run)(long);
};

Widest widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {"avx512", 16, avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {"avx2", 8, avx2};
#endif
  return {"128 bits", 4, narrow};
}

volatile float sink;

/** f(thread) on so many threads at once, the calling one among them. */
template <class F>
void together(long threads, F f) {
  std::vector<std::thread> others;
  for (long t = 1; t < threads; ++t) others.emplace_back(f, t);
  f(0);
  for (auto& other : others) other.join();
}

/** threads, floating-point operations of one call of all threads together */
Case fma(std::istream& words) {
  const long threads = next(words), flops = next(words);
  const Widest isa = widest();
  const long rounds = flops / (threads * 2 * SUMS * isa.lanes);
  return {.run = [=](long repeats) { together(threads, [=](long) { sink = isa.run(rounds * repeats); }); },
          .note = isa.name};
}

/** Each thread its own part, `repeats` times over. */
template <class F>
Case spread(long threads, long length, std::string note, F part) {
  const auto run = [=](long repeats) {
    together(threads, [=](long t) {
      const long from = length * t / threads, to = length * (t + 1) / threads;
      for (long i = 0; i < repeats; ++i) part(from, to - from);
    });
  };
  return {.run = run, .note = std::move(note)};
}

/** threads, elements */
Case copy(std::istream& words) {
  const long threads = next(words), length = next(words);
  std::shared_ptr<float[]> from = random(std::size_t(length), 1), to = blank(std::size_t(length));
  Case result = spread(threads, length, "memcpy",
                       [=](long at, long n) { std::memcpy(&to[at], &from[at], std::size_t(n) * sizeof(float)); });
  result.result = to.get();
  result.length = std::size_t(length);
  return result;
}

/** Reads four pages side by side, each line asked for ahead: more requests under way than one stream has. */
void read(const float* from, long n) {
  typedef std::uint64_t Line __attribute__((vector_size(64), may_alias, aligned(4)));
  constexpr long PAGE = 64, PAGES = 4;
  const auto* lines = reinterpret_cast<const Line*>(from);
  Line sums[PAGES] = {};
  for (long block = 0; block + PAGES * PAGE <= n / 16; block += PAGES * PAGE) {
    for (long i = block; i < block + PAGE; ++i) {
      for (long page = 0; page < PAGES; ++page) {
        __builtin_prefetch(&lines[i + (page + PAGES) * PAGE]);
        sums[page] += lines[i + page * PAGE];
      }
    }
  }
  sink = float((sums[0] + sums[1] + sums[2] + sums[3])[0]);
}

/** threads, elements */
Case stream(std::istream& words) {
  const long threads = next(words), length = next(words);
  std::shared_ptr<float[]> from = random(std::size_t(length), 1);
  return spread(threads, length, "sum of integers", [=](long at, long n) { read(&from[at], n); });
}

}  // namespace

int main() { serve("peak " + std::string(widest().name), {{"fma", fma}, {"copy", copy}, {"stream", stream}}); }
