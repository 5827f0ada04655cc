#include <cmath>

#include "checks.h"
#include "covering.h"
#include "memory.h"
#include "operands.h"
#include "reference.h"

// Whole convolutions through the drivers: both layouts, groups, strides, dilations and paddings of every kind.

namespace uhop::check {

namespace {

/** What the driver computes. */
enum class Family { any, depthwise, winograd };

struct ConvCase {
  ConvCall call;
  Kind kind;
  bool allThreads;
  /** Outputs along a side of a Winograd tile; 0 for direct sums. */
  std::size_t m;
};

/** The definition, element by element, on numbers. */
template <class T>
class Reference {
 public:
  Reference(const ConvCall& call, const Operands<T>& data) : call_(call), bias_(data.bias) {
    for (std::size_t i = 0; i < call.needX(); ++i) x_.push_back(value_of(data.x[i]));
    for (std::size_t i = 0; i < call.needW(); ++i) w_.push_back(value_of(data.w[i]));
  }

  /** With m, scales are those of a Winograd tile: Σ_c max|x|·Σ|w| over its inputs and its filter's taps. */
  Expected all(std::size_t m) const {
    Expected result;
    const std::size_t pixels = call_.OH * call_.OW;
    for (std::size_t i = 0; i < call_.needOut(); ++i) {
      const std::size_t item = i / (pixels * call_.O), rest = i % (pixels * call_.O);
      const std::size_t o = call_.interleaved ? rest % call_.O : rest / pixels;
      const std::size_t pixel = call_.interleaved ? rest / call_.O : rest % pixels;
      result.push<T>(sum(item, o, pixel / call_.OW, pixel % call_.OW), bias_ == nullptr ? nullptr : bias_ + o,
                     call_.relu);
      if (m > 0)
        result.scale.back() = tile_scale(item, o, pixel / call_.OW / m * m, pixel % call_.OW / m * m, m) + bias(o);
    }
    return result;
  }

 private:
  double bias(std::size_t o) const { return bias_ == nullptr ? 0 : std::fabs(value_of(bias_[o])); }

  double tile_scale(std::size_t item, std::size_t o, std::size_t oh, std::size_t ow, std::size_t m) const {
    const ConvCall& c = call_;
    const std::size_t share = c.C / c.groups, first = o / (c.O / c.groups) * share;
    double scale = 0;
    for (std::size_t i = 0; i < share; ++i) {
      double most = 0, taps = 0;
      for (std::size_t at = 0; at < (m + 2) * (m + 2); ++at) {
        const std::size_t h = oh + at / (m + 2) - c.padTop, w = ow + at % (m + 2) - c.padLeft;
        if (h < c.H && w < c.W) most = std::max(most, std::fabs(x_[pixel(item, first + i, h, w)]));
      }
      for (std::size_t tap = 0; tap < 9; ++tap) {
        taps += std::fabs(w_[c.interleaved ? (tap * share + i) * c.O + o : (o * share + i) * 9 + tap]);
      }
      scale += most * taps;
    }
    // The sums of the transforms' coefficients along both axes.
    return scale * (m == 2 ? 16 : 1024);
  }

  Dot<T> sum(std::size_t item, std::size_t o, std::size_t oh, std::size_t ow) const {
    const ConvCall& c = call_;
    const std::size_t share = c.C / c.groups, first = o / (c.O / c.groups) * share;
    Dot<T> dot;
    for (std::size_t kh = 0; kh < c.KH; ++kh) {
      for (std::size_t kw = 0; kw < c.KW; ++kw) {
        // Beyond the image these are beyond its extent too, also where they wrap around below zero.
        const std::size_t h = oh * c.strideH + kh * c.dilationH - c.padTop;
        const std::size_t w = ow * c.strideW + kw * c.dilationW - c.padLeft;
        for (std::size_t i = 0; i < share; ++i) {
          const double x = h < c.H && w < c.W ? x_[pixel(item, first + i, h, w)] : 0;
          dot.add(
              x,
              w_[c.interleaved ? ((kh * c.KW + kw) * share + i) * c.O + o : ((o * share + i) * c.KH + kh) * c.KW + kw]);
        }
      }
    }
    return dot;
  }

  std::size_t pixel(std::size_t item, std::size_t c, std::size_t h, std::size_t w) const {
    return call_.interleaved ? ((item * call_.H + h) * call_.W + w) * call_.C + c
                             : ((item * call_.C + c) * call_.H + h) * call_.W + w;
  }

  const ConvCall& call_;
  const T* bias_;
  std::vector<double> x_;
  std::vector<double> w_;
};

/** `run(call, data, crew)` is a driver with its kernel. */
template <class T, class Run>
class ConvCheck {
 public:
  ConvCheck(Run run, Report& report) : run_(run), report_(report) {}

  void run(const ConvCase& one) {
    const ConvCall& call = one.call;
    const std::size_t seed = report_.cases();
    const std::size_t share = call.C / call.groups, terms = one.m > 0 ? share + 11 : share * call.KH * call.KW;
    Random random(seed);
    const auto operand = [&](Fenced& where, std::size_t count, Role role) {
      T* const x = where.place<T>(count, seed % 4 != 3);
      fill(x, count, one.kind, role, terms, random);
      return x;
    };
    const T* const x = operand(x_, call.needX(), Role::left);
    const T* const w = operand(w_, call.needW(), Role::right);
    const T* const bias = call.bias ? operand(bias_, call.O, Role::bias) : nullptr;

    std::vector<Bits<T>> first;
    for (unsigned threads = 1; threads <= 3; ++threads) {
      if (!one.allThreads && threads != 1 + seed % 3) continue;
      const Operands<T> data{x, w, bias, out_.prepare(call.needOut(), seed % 16)};
      if (!run_(call, data, Crew{threads})) return fail(one, threads, "was cancelled");
      if (!out_.intact()) return fail(one, threads, "wrote around the result");
      if (first.empty()) {
        const Verdict verdict{terms, one.m == 0 && is_exact(one.kind), call.relu};
        const std::string wrong = first_wrong<T>(data.out, Reference<T>(call, data).all(one.m), verdict);
        if (!wrong.empty()) return fail(one, threads, wrong);
        for (std::size_t i = 0; i < out_.count(); ++i) first.push_back(bits_of(data.out[i]));
      }
      for (std::size_t i = 0; i < first.size(); ++i) {
        if (bits_of(data.out[i]) != first[i]) return fail(one, threads, "gave other bits than one thread");
      }
    }
    report_.passed(out_.data(), out_.count());
  }

 private:
  void fail(const ConvCase& one, unsigned threads, const std::string& what) {
    const ConvCall& c = one.call;
    report_.fail(
        text("conv2d %s %zux%zux%zux%zu, %zu filters %zux%zu, %zu groups, stride %zux%zu, dilation %zux%zu, "
             "padding %zu,%zu to %zux%zu%s%s, %s, %u threads: %s",
             c.interleaved ? "nhwc" : "nchw", c.batch, c.C, c.H, c.W, c.O, c.KH, c.KW, c.groups, c.strideH, c.strideW,
             c.dilationH, c.dilationW, c.padTop, c.padLeft, c.OH, c.OW, c.bias ? ", bias" : "", c.relu ? ", relu" : "",
             name_of(one.kind), threads, what.c_str()));
  }

  Run run_;
  Report& report_;
  Fenced x_, w_, bias_;
  Guarded<T> out_;
};

/** A convolution over a `width` wide image whose other extents and options are drawn. */
ConvCall call_of(std::size_t C, std::size_t O, std::size_t groups, std::size_t width, Random& random) {
  const auto pick = [&](std::int64_t from, std::int64_t to) { return std::size_t(random.between(from, to)); };
  ConvCall call{};
  const bool plain = random.one_in(3);
  call.batch = random.one_in(3) ? 2 : 1;
  call.C = C, call.O = O, call.groups = groups;
  call.H = pick(1, 6), call.W = width;
  call.KH = pick(1, 4), call.KW = random.one_in(8) ? 1 : pick(1, 5);
  if (random.one_in(4)) call.KH = call.KW = 1;
  call.strideH = plain ? 1 : pick(1, 3), call.strideW = plain ? 1 : pick(1, 3);
  call.dilationH = plain ? 1 : pick(1, 2), call.dilationW = plain ? 1 : pick(1, 3);
  call.padTop = random.one_in(3) ? 0 : pick(0, 3), call.padLeft = random.one_in(3) ? 0 : pick(0, 5);
  const std::size_t spanH = (call.KH - 1) * call.dilationH + 1, spanW = (call.KW - 1) * call.dilationW + 1;
  const auto outputs = [&](std::size_t extent, std::size_t pad, std::size_t span, std::size_t stride) {
    const std::size_t padded = extent + pad + pick(0, 3);
    return padded < span ? 0 : (padded - span) / stride + 1;
  };
  call.OH = outputs(call.H, call.padTop, spanH, call.strideH);
  call.OW = outputs(call.W, call.padLeft, spanW, call.strideW);
  call.interleaved = random.one_in(2);
  call.bias = random.one_in(2);
  call.relu = random.one_in(2);
  return call;
}

/** What Winograd's filtering computes. */
void make_three_by_three(ConvCall& call, Random& random) {
  call.KH = call.KW = 3;
  call.strideH = call.strideW = call.dilationH = call.dilationW = 1;
  const auto outputs = [&](std::size_t extent, std::size_t pad) {
    const std::size_t padded = extent + pad + std::size_t(random.between(0, 3));
    return padded < 3 ? 0 : padded - 2;
  };
  call.OH = outputs(call.H, call.padTop), call.OW = outputs(call.W, call.padLeft);
}

/** Grows until three threads have something to do. */
void enlarge(ConvCall& call, std::size_t macs) {
  const std::size_t one = call.O * (call.C / call.groups) * call.KH * call.KW * call.OW;
  const std::size_t more = macs / (one + 1) + 1;
  call.H += more * call.strideH;
  call.OH += more;
}

template <class T, class Run>
void check_convolutions(Run driver, Family family, Effort effort, Report& report, std::size_t m = 0) {
  ConvCheck<T, Run> check(driver, report);
  const bool depthwise = family == Family::depthwise;
  std::size_t turn = 0;
  const auto run = [&](std::size_t C, std::size_t O, std::size_t groups, std::size_t width, std::size_t macs = 0) {
    Random random(++turn);
    ConvCall call = call_of(C, O, groups, width, random);
    if (depthwise && call.interleaved) call.O = call.C;
    if (family == Family::winograd) make_three_by_three(call, random);
    if (macs > 0 && call.OW > 0) enlarge(call, macs);
    const Kind kind = macs > 0 && turn % 2 == 0 ? Kind::random : Kind(random.between(0, kKinds - 1));
    check.run({call, kind, macs > 0, m});
    return !report.failed();
  };
  // Channels, filters and widths over the covering; in groups, rounded up to what is shared out. The channels of a
  // whole convolution make it long, so it takes a third of them, which is coprime to the sizes.
  std::size_t place = 0;
  for (const Triple& size : covering(effort)) {
    if (!depthwise && place++ % 3 != 0) continue;
    const std::size_t groups = depthwise ? size.x : 1 + size.x % 3;
    const std::size_t C = depthwise ? size.x : groups * ((size.x + groups - 1) / groups);
    const std::size_t O = depthwise ? size.x * (1 + size.y % 2) : groups * ((size.y + groups - 1) / groups);
    if (!run(C, O, groups, size.z)) return;
  }
  const std::size_t enough = depthwise ? 3 << 17 : 3 << 20;
  for (int again = 0; again < (effort == Effort::full ? 12 : 3); ++again) {
    const std::size_t C = depthwise ? 37 : 24, O = depthwise ? 37 : 50;
    if (!run(C, O, depthwise ? C : 1 + std::size_t(again) % 2, 41, enough)) return;
  }
}

}  // namespace

template <class T>
void check_conv2d(const GemmVariant<T>& v, Effort effort, Report& report) {
  const auto driver = [&v](const ConvCall& call, const Operands<T>& data, const Crew& crew) {
    return conv2d(v, call, data, crew);
  };
  check_convolutions<T>(driver, Family::any, effort, report);
}

template void check_conv2d(const GemmVariant<float>&, Effort, Report&);
template void check_conv2d(const GemmVariant<double>&, Effort, Report&);
template void check_conv2d(const GemmVariant<F16Bits>&, Effort, Report&);
template void check_conv2d(const GemmVariant<Bf16Bits>&, Effort, Report&);

template <class T, class Variant>
static void check_depthwise(const Variant& v, Effort effort, Report& report) {
  const auto driver = [&v](const ConvCall& call, const Operands<T>& data, const Crew& crew) {
    return depthwise2d(v, call, data, crew);
  };
  check_convolutions<T>(driver, Family::depthwise, effort, report);
}

template <class T>
static void check_winograd(const WinogradVariant<T>& v, Effort effort, Report& report) {
  const auto driver = [&v](const ConvCall& call, const Operands<T>& data, const Crew& crew) {
    return winograd2d(v, call, data, crew);
  };
  check_convolutions<T>(driver, Family::winograd, effort, report, v.m);
}

void check(const WinogradVariant<float>& v, Effort e, Report& r) { check_winograd(v, e, r); }
void check(const WinogradVariant<double>& v, Effort e, Report& r) { check_winograd(v, e, r); }
void check(const DepthwiseKernel<float>& v, Effort e, Report& r) { check_depthwise<float>(v, e, r); }
void check(const DepthwiseKernel<double>& v, Effort e, Report& r) { check_depthwise<double>(v, e, r); }
void check(const HalfDepthwise<F16Bits>& v, Effort e, Report& r) { check_depthwise<F16Bits>(v, e, r); }
void check(const HalfDepthwise<Bf16Bits>& v, Effort e, Report& r) { check_depthwise<Bf16Bits>(v, e, r); }

}  // namespace uhop::check
