#include "wrong.h"

#include <atomic>
#include <cstdlib>
#include <utility>

#include "checks.h"

// Each wrong kernel runs a right one and spoils what goes in or comes out.

namespace uhop::check {

namespace {

/** A kernel of that kind that runs here: the last one listed, whose tile is the smallest. */
template <class Kernel>
const Kernel& right() {
  static const Kernel* const found = [] {
    const Kernel* last = nullptr;
    for (const Variant& variant : variants()) {
      const Kernel* const kernel = std::get_if<Kernel>(&variant.kernel);
      if (kernel != nullptr && can_run(variant.isa)) last = kernel;
    }
    if (last == nullptr) std::abort();
    return last;
  }();
  return *found;
}

using Tile = GemmTile<float>;
using Rows = DepthwiseRows<float>;

void multiply(const Tile& t) { right<GemmVariant<float>>().kernel(t); }
void convolve(const Rows& r) { right<DepthwiseKernel<float>>()(r); }
float& last_of(const Tile& t) { return t.c[std::size_t(t.m - 1) * t.ldc + std::size_t(t.n - 1)]; }

template <class F>
void for_each(const Tile& t, const F& f) {
  for (int i = 0; i < t.m; ++i) {
    for (int j = 0; j < t.n; ++j) f(t.c[std::size_t(i) * t.ldc + std::size_t(j)]);
  }
}

float to_bf16(float x) { return std::isnan(x) ? x : float(value_of(stored<Bf16Bits>(x))); }
float without_subnormals(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }

struct WrongGemm {
  const char* what;
  GemmKernel<float> kernel;
};

const WrongGemm kGemms[] = {
    {"a GEMM that drops the last k",
     [](const Tile& t) {
       Tile wrong = t;
       if (wrong.kc > 0) --wrong.kc;
       multiply(wrong);
     }},
    {"a GEMM with two lanes exchanged",
     [](const Tile& t) {
       multiply(t);
       if (t.n > 1) std::swap(t.c[0], t.c[1]);
     }},
    {"a GEMM that loses the bias",
     [](const Tile& t) {
       Tile wrong = t;
       wrong.bias = nullptr;
       multiply(wrong);
     }},
    {"a GEMM that takes the bias of the row for that of the column",
     [](const Tile& t) {
       Tile wrong = t;
       wrong.biasI = 0;
       wrong.biasJ = 0;
       multiply(wrong);
     }},
    {"a GEMM that is one off in the last element of an edge tile",
     [](const Tile& t) {
       multiply(t);
       if (t.m < 3) last_of(t) += 1;
     }},
    {"a GEMM that leaves the last element of an edge tile",
     [](const Tile& t) {
       const float before = last_of(t);
       multiply(t);
       if (t.n % 4 == 1) last_of(t) = before;
     }},
    {"a GEMM that writes behind a row",
     [](const Tile& t) {
       multiply(t);
       if (t.n == 3) t.c[3] = 0;
     }},
    {"a GEMM that rounds to bf16",
     [](const Tile& t) {
       multiply(t);
       for_each(t, [](float& y) { y = to_bf16(y); });
     }},
    {"a GEMM that takes subnormals for zero",
     [](const Tile& t) {
       multiply(t);
       for_each(t, [](float& y) { y = without_subnormals(y); });
     }},
    {"a GEMM that takes infinities for the largest number",
     [](const Tile& t) {
       multiply(t);
       for_each(t, [](float& y) { y = std::isinf(y) ? std::copysign(0x1.fffffep127f, y) : y; });
     }},
    {"a GEMM whose relu makes NaN zero",
     [](const Tile& t) {
       multiply(t);
       if (!t.finish || !t.relu) return;
       for_each(t, [](float& y) { y = std::isnan(y) ? 0 : y; });
     }},
    {"a GEMM without relu",
     [](const Tile& t) {
       Tile wrong = t;
       wrong.relu = false;
       multiply(wrong);
     }},
    {"a GEMM that adds to what C holds",
     [](const Tile& t) {
       Tile wrong = t;
       wrong.accumulate = true;
       multiply(wrong);
     }},
};

void multiply_and_read_on(const Tile& t) {
  multiply(t);
  [[maybe_unused]] const volatile float behind = t.a[std::size_t(t.m - 1) * t.aRow + t.kc * t.aStep];
}

/** Within tolerance, and another number in half of the calls, at random; exact where that is asked for. */
void multiply_unsteadily(const Tile& t) {
  static std::atomic<unsigned> calls{0};
  multiply(t);
  const float y = t.c[0];
  const bool odd = Random(calls.fetch_add(1)).one_in(2);
  if (odd && t.kc > 8 && std::fabs(y) > 1 && std::rint(y) != y) t.c[0] = std::nextafter(y, 0.0f);
}

struct WrongDepthwise {
  const char* what;
  DepthwiseKernel<float> kernel;
};

const WrongDepthwise kDepthwise[] = {
    {"a depthwise that drops the last tap",
     [](const Rows& r) {
       Rows wrong = r;
       wrong.KH -= 1;
       convolve(wrong);
     }},
    {"a depthwise that loses the bias",
     [](const Rows& r) {
       Rows wrong = r;
       wrong.bias = nullptr;
       convolve(wrong);
     }},
    {"a depthwise that forgets the padding",
     [](const Rows& r) {
       Rows wrong = r;
       wrong.padLeft = 0;
       convolve(wrong);
     }},
    {"a depthwise that leaves the last element of a block",
     [](const Rows& r) {
       const std::ptrdiff_t last = (r.first + r.count) * r.OW * (r.interleaved ? r.lanes : 1) - 1;
       const float before = r.out[last];
       convolve(r);
       r.out[last] = before;
     }},
    {"a depthwise whose relu makes NaN zero",
     [](const Rows& r) {
       convolve(r);
       const std::ptrdiff_t row = r.OW * (r.interleaved ? r.lanes : 1);
       for (std::ptrdiff_t i = r.first * row; i < (r.first + r.count) * row; ++i) {
         r.out[i] = r.relu && std::isnan(r.out[i]) ? 0 : r.out[i];
       }
     }},
};

const std::pair<const char*, ReluKernel<float>> kRelus[] = {
    {"a relu that makes NaN zero",
     [](const float* x, float* y, std::size_t n, bool) {
       for (std::size_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
     }},
    {"a relu that keeps -0",
     [](const float* x, float* y, std::size_t n, bool) {
       for (std::size_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
     }},
    {"a relu that leaves the last element",
     [](const float* x, float* y, std::size_t n, bool) {
       if (n > 0) right<ReluKernel<float>>()(x, y, n - 1, false);
     }},
    {"a relu that reads on",
     [](const float* x, float* y, std::size_t n, bool) {
       right<ReluKernel<float>>()(x, y, n, false);
       [[maybe_unused]] const volatile float behind = x[n];
     }},
    {"a relu that writes on",
     [](const float* x, float* y, std::size_t n, bool) {
       right<ReluKernel<float>>()(x, y, n, false);
       y[n] = 0;
     }},
};

const std::pair<const char*, WidenKernel<F16Bits>> kWidens[] = {
    {"a widening that takes subnormals for zero",
     [](const F16Bits* x, float* y, std::size_t n) {
       right<WidenKernel<F16Bits>>()(x, y, n);
       for (std::size_t i = 0; i < n; ++i) y[i] = std::fabs(y[i]) < 0x1p-14f ? 0 : y[i];
     }},
    {"a widening that makes one NaN of all",
     [](const F16Bits* x, float* y, std::size_t n) {
       right<WidenKernel<F16Bits>>()(x, y, n);
       for (std::size_t i = 0; i < n; ++i) y[i] = std::isnan(y[i]) ? NAN : y[i];
     }},
};

const std::pair<const char*, NarrowKernel<Bf16Bits>> kNarrows[] = {
    {"a narrowing that cuts off",
     [](const float* x, Bf16Bits* y, std::size_t n) {
       for (std::size_t i = 0; i < n; ++i) {
         y[i].bits = std::uint16_t(bits_of(x[i]) >> 16 | (std::isnan(x[i]) ? 0x40 : 0));
       }
     }},
    {"a narrowing that rounds ties up",
     [](const float* x, Bf16Bits* y, std::size_t n) {
       right<NarrowKernel<Bf16Bits>>()(x, y, n);
       for (std::size_t i = 0; i < n; ++i) {
         if (!std::isnan(x[i])) y[i].bits = std::uint16_t((bits_of(x[i]) + 0x8000) >> 16);
       }
     }},
    {"a narrowing that makes infinities of NaN",
     [](const float* x, Bf16Bits* y, std::size_t n) {
       right<NarrowKernel<Bf16Bits>>()(x, y, n);
       for (std::size_t i = 0; i < n; ++i) y[i].bits &= std::isnan(x[i]) ? 0xff80 : 0xffff;
     }},
};

/** A transform that spoils what the right one made. */
WinogradVariant<float> with_wrong_filters() {
  WinogradVariant<float> v = right<WinogradVariant<float>>();
  v.transforms.filters = [](const WinogradFilters<float>& f) {
    right<WinogradVariant<float>>().transforms.filters(f);
    f.to[0] = -f.to[0];
  };
  return v;
}

/** Products that drop the last channel. */
WinogradVariant<float> with_wrong_products() {
  WinogradVariant<float> v = right<WinogradVariant<float>>();
  v.kernel = kGemms[0].kernel;
  return v;
}

/** An output that is not finite stays what it is. */
WinogradVariant<float> without_repair() {
  WinogradVariant<float> v = right<WinogradVariant<float>>();
  v.transforms.output = [](const WinogradOutput<float>& out) {
    right<WinogradVariant<float>>().transforms.output(out);
    return false;
  };
  return v;
}

GemmVariant<float> with(GemmKernel<float> kernel) {
  GemmVariant<float> v = right<GemmVariant<float>>();
  v.kernel = kernel;
  return v;
}

template <class Kernel, std::size_t N>
void add(std::vector<WrongKernel>& all, const std::pair<const char*, Kernel> (&wrongs)[N]) {
  for (const auto& [what, kernel] : wrongs) {
    all.push_back({what, [kernel = kernel](Report& report) { check(kernel, Effort::brief, report); }});
  }
}

}  // namespace

std::vector<WrongKernel> wrong_kernels() {
  std::vector<WrongKernel> all;
  const auto through = [&](const char* what, const char* where, const auto& check, const auto& variant) {
    all.push_back({text("%s, %s", what, where), [=](Report& report) { check(variant, Effort::brief, report); }});
  };
  for (const auto& [what, kernel] : kGemms) {
    through(what, "tile by tile", check_tiles<float>, with(kernel));
    through(what, "in matmul", check_matmul<float>, with(kernel));
    through(what, "in conv2d", check_conv2d<float>, with(kernel));
  }
  through("a GEMM that reads on", "tile by tile", check_tiles<float>, with(multiply_and_read_on));
  through("a GEMM with other bits each time", "in matmul", check_matmul<float>, with(multiply_unsteadily));
  through("a GEMM with other bits each time", "in conv2d", check_conv2d<float>, with(multiply_unsteadily));

  GemmVariant<F16Bits> flat = right<GemmVariant<F16Bits>>();
  flat.widen = kWidens[0].second;
  through("a 16-bit GEMM that takes subnormals for zero", "in matmul", check_matmul<F16Bits>, flat);
  GemmVariant<Bf16Bits> cut = right<GemmVariant<Bf16Bits>>();
  cut.narrow = kNarrows[0].second;
  through("a 16-bit GEMM that cuts off", "in matmul", check_matmul<Bf16Bits>, cut);
  through("a 16-bit GEMM that cuts off", "in conv2d", check_conv2d<Bf16Bits>, cut);

  for (const auto& [what, kernel] : kDepthwise) {
    all.push_back({what, [kernel = kernel](Report& report) { check(kernel, Effort::brief, report); }});
  }
  const auto winograd = [](const WinogradVariant<float>& v, Effort effort, Report& report) {
    check(v, effort, report);
  };
  through("a Winograd with a wrong filter", "in conv2d", winograd, with_wrong_filters());
  through("a Winograd that drops the last channel", "in conv2d", winograd, with_wrong_products());
  through("a Winograd that leaves what is not finite", "in conv2d", winograd, without_repair());
  add(all, kRelus);
  add(all, kWidens);
  add(all, kNarrows);
  return all;
}

}  // namespace uhop::check
