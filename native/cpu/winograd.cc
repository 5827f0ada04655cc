#include "winograd.h"

#include <algorithm>

#include "../probe/caches.h"
#include "scratch.h"

namespace uhop {

namespace {

using Offset = std::ptrdiff_t;

constexpr std::size_t kMostTiles = 192;
constexpr std::size_t kMostFilters = 64;  // of one output transform
/** Keeps the positions' streams out of each other's cache sets, and holds what vectors read beyond the end. */
constexpr std::size_t kPad = 16;
constexpr double kWorthOfThread = 1 << 20;

/** Elements from one position to the next. */
std::size_t padded(std::size_t elements) { return plus(round_up(elements, kPad), kPad); }

/** Per group: filters are the rows of the products where pixels are planar, and their columns where interleaved. */
template <class T>
struct Extents {
  std::size_t positions, C, O, widthO, widthT, strideU;

  Extents(const WinogradVariant<T>& v, const ConvCall& call)
      : positions((v.m + 2) * (v.m + 2)),
        C(call.C / call.groups),
        O(call.O / call.groups),
        widthO(call.interleaved ? v.NR : v.MR),
        widthT(call.interleaved ? v.MR : v.NR),
        strideU(padded(times(round_up(O, widthO), C))) {}
};

/** How a call is cut. Speed only: every sum is the same for every plan. */
template <class T>
struct Plan : Extents<T> {
  std::size_t TH, TW, tiles, block, blocks, filters, splits, strideV, strideM;

  Plan(const WinogradVariant<T>& v, const ConvCall& call, unsigned threads, bool prepared) : Extents<T>(v, call) {
    TH = parts(call.OH, v.m);
    TW = parts(call.OW, v.m);
    tiles = call.batch * TH * TW;
    // The inputs of a block and the products of some filters stay in the second cache.
    const std::size_t budget = second_cache() * 3 / 4 / sizeof(T) / this->positions;
    const std::size_t most = std::clamp(budget / (this->C + std::min(this->O, kFew)), std::size_t(1), kMostTiles);
    block = std::min(std::max(most / this->widthT, std::size_t(1)) * this->widthT, round_up(tiles, this->widthT));
    blocks = parts(tiles, block);
    block = std::min(block, round_up(parts(tiles, blocks), this->widthT));
    const std::size_t tasks = call.groups * blocks, few = threads > 1 ? 2 * threads : 1;
    // Two panels of planar filters may be one vector of them.
    const std::size_t unit = call.interleaved ? v.NR : 2 * v.MR;
    filters = std::min(round_up(parts(this->O, parts(few, tasks)), unit), round_up(this->O, this->widthO));
    splits = parts(this->O, filters);
    // Transformed filters soon exceed the second cache: a lone block has them made some at a time, when it uses them.
    const std::size_t all = times(times(call.groups, this->C), this->O);
    fused = !prepared && all > budget / 2 && blocks == 1;
    const std::size_t wanted = fused ? budget / 4 / this->C : call.interleaved ? filters : budget / 4 / block;
    chunk = std::min(filters, std::max(wanted / unit, std::size_t(1)) * unit);
    strideV = padded(times(block, this->C));
    strideM = padded(times(block, chunk));
    if (fused) this->strideU = padded(times(chunk, this->C));
  }

  /** Of one thread. */
  std::size_t elements() const {
    return times(this->positions, plus(plus(strideV, strideM), fused ? this->strideU : 0));
  }

  /** Filters whose products are kept at once. */
  std::size_t chunk;
  /** Whether a task transforms the filters that it uses, when it uses them. */
  bool fused;

 private:
  static constexpr std::size_t kFew = 64;
};

/** Filters [first, first + count) of a group. */
template <class T>
void transform_filters(const WinogradVariant<T>& v, const ConvCall& call, const Extents<T>& e, const T* w,
                       std::size_t group, std::size_t first, std::size_t count, std::size_t stride, T* to) {
  const std::size_t o = group * e.O + first;
  v.transforms.filters({.w = call.interleaved ? w + o : w + o * e.C * 9,
                        .strideO = Offset(call.interleaved ? 1 : e.C * 9),
                        .strideC = Offset(call.interleaved ? call.O : 9),
                        .strideTap = Offset(call.interleaved ? e.C * call.O : 1),
                        .C = Offset(e.C),
                        .count = Offset(count),
                        .width = Offset(e.widthO),
                        .to = to,
                        .stride = Offset(stride)});
}

template <class T>
class Task {
 public:
  Task(const WinogradVariant<T>& v, const ConvCall& call, const Operands<T>& data, const Plan<T>& plan,
       const T* filters, T* scratch)
      : v_(v),
        call_(call),
        data_(data),
        plan_(plan),
        u_(filters),
        inputs_(scratch),
        products_(scratch + plan.positions * plan.strideV),
        own_(products_ + plan.positions * plan.strideM) {}

  void run(std::size_t task) {
    const std::size_t split = task % plan_.splits, block = task / plan_.splits % plan_.blocks;
    group_ = task / plan_.splits / plan_.blocks;
    count_ = std::min(plan_.block, plan_.tiles - block * plan_.block);
    cut(block * plan_.block);
    transform();
    const std::size_t end = std::min((split + 1) * plan_.filters, plan_.O);
    for (std::size_t o = split * plan_.filters; o < end; o += plan_.chunk) {
      const std::size_t n = std::min(plan_.chunk, end - o);
      if (plan_.fused) transform_filters(v_, call_, plan_, data_.w, group_, o, n, plan_.strideU, own_);
      multiply(o, n);
      finish(o, n);
    }
  }

 private:
  /** The block's tiles as runs of neighbours (planar: within one panel; interleaved: one by one). */
  void cut(std::size_t first) {
    runCount_ = 0;
    const std::size_t image = call_.H * call_.W * call_.C, result = call_.OH * call_.OW * call_.O;
    for (std::size_t at = 0; at < count_;) {
      const std::size_t tile = first + at, tw = tile % plan_.TW, th = tile / plan_.TW % plan_.TH;
      const std::size_t item = tile / plan_.TW / plan_.TH;
      const std::size_t room = std::min(plan_.widthT - at % plan_.widthT, kMostFilters);
      const std::size_t n = call_.interleaved ? 1 : std::min({plan_.TW - tw, count_ - at, room});
      runs_[runCount_++] = {
          Offset(item * image), Offset(item * result), Offset(th * v_.m), Offset(tw * v_.m), Offset(at), Offset(n)};
      at += n;
    }
  }

  void transform() const {
    v_.transforms.input({.x = data_.x + group_ * plan_.C * (call_.interleaved ? 1 : call_.H * call_.W),
                         .H = Offset(call_.H),
                         .W = Offset(call_.W),
                         .C = Offset(plan_.C),
                         .padTop = Offset(call_.padTop),
                         .padLeft = Offset(call_.padLeft),
                         .interleaved = call_.interleaved,
                         .pitch = Offset(call_.C),
                         .runs = runs_,
                         .runCount = runCount_,
                         .width = Offset(plan_.widthT),
                         .to = inputs_,
                         .stride = Offset(plan_.strideV)});
  }

  void multiply(std::size_t first, std::size_t n) const {
    const T* const filters = plan_.fused ? own_ : u_ + group_ * plan_.positions * plan_.strideU + first * plan_.C;
    for (std::size_t position = 0; position < plan_.positions; ++position) {
      const T* const u = filters + position * plan_.strideU;
      const T* const v = inputs_ + position * plan_.strideV;
      T* const c = products_ + position * plan_.strideM;
      if (call_.interleaved) {
        products(v, count_, u, n, c, plan_.chunk);
      } else {
        products(u, n, v, count_, c, plan_.block);
      }
    }
  }

  /** A panel of B stays in a near cache while those of A pass by. */
  void products(const T* a, std::size_t rows, const T* b, std::size_t columns, T* c, std::size_t ldc) const {
    const std::size_t C = plan_.C;
    for (std::size_t j = 0; j < columns; j += v_.NR) {
      for (std::size_t i = 0; i < rows; i += v_.MR) {
        for (std::size_t k = 0; k < C; k += v_.KC) {
          GemmTile<T> t{};
          t.a = a + i * C + k * v_.MR;
          t.aRow = 1;
          t.aStep = v_.MR;
          t.b = b + j * C + k * v_.NR;
          t.bStep = v_.NR;
          t.bPadded = true;
          t.kc = std::min(v_.KC, C - k);
          t.c = c + i * ldc + j;
          t.ldc = ldc;
          t.m = int(std::min(v_.MR, rows - i));
          t.n = int(std::min(v_.NR, columns - j));
          t.accumulate = k > 0;
          v_.kernel(t);
        }
      }
    }
  }

  void finish(std::size_t first, std::size_t n) const {
    const std::size_t step = call_.interleaved ? kMostFilters : 1;
    for (std::size_t i = 0; i < n; i += step) {
      const std::size_t o = group_ * plan_.O + first + i;
      std::uint64_t bad[kMostTiles];
      const WinogradOutput<T> output{
          .m = products_ + i * (call_.interleaved ? 1 : plan_.block),
          .stride = Offset(plan_.strideM),
          .pitch = Offset(plan_.chunk),
          .out = data_.out + o * (call_.interleaved ? 1 : call_.OH * call_.OW),
          .OH = Offset(call_.OH),
          .OW = Offset(call_.OW),
          .outPitch = Offset(call_.O),
          .bias = data_.bias == nullptr ? nullptr : data_.bias + o,
          .relu = call_.relu,
          .interleaved = call_.interleaved,
          .count = Offset(std::min(step, n - i)),
          .runs = runs_,
          .runCount = runCount_,
          .bad = bad,
      };
      if (v_.transforms.output(output)) repair(o, bad);
    }
  }

  /** Bits are tiles of the run (planar) or filters (interleaved). */
  void repair(std::size_t o, const std::uint64_t* bad) const {
    for (int r = 0; r < runCount_; ++r) {
      for (std::uint64_t left = bad[r]; left != 0; left &= left - 1) {
        const std::size_t bit = std::size_t(__builtin_ctzll(left));
        const std::size_t ow = std::size_t(runs_[r].ow) + (call_.interleaved ? 0 : bit * v_.m);
        direct_tile(runs_[r], ow, o + (call_.interleaved ? bit : 0));
      }
    }
  }

  void direct_tile(const WinogradRun& run, std::size_t left, std::size_t o) const {
    const std::size_t bottom = std::min(std::size_t(run.oh) + v_.m, call_.OH), right = std::min(left + v_.m, call_.OW);
    for (std::size_t oh = std::size_t(run.oh); oh < bottom; ++oh) {
      for (std::size_t ow = left; ow < right; ++ow) {
        const std::size_t pixel = oh * call_.OW + ow;
        const std::size_t at = call_.interleaved ? pixel * call_.O + o : o * call_.OH * call_.OW + pixel;
        T sum = direct_sum(run.x, oh, ow, o);
        if (data_.bias != nullptr) sum += data_.bias[o];
        data_.out[std::size_t(run.out) + at] = call_.relu && sum <= 0 ? T(0) : sum;
      }
    }
  }

  T direct_sum(Offset image, std::size_t oh, std::size_t ow, std::size_t o) const {
    const bool planar = !call_.interleaved;
    const T* const x = data_.x + image;
    T sum = 0;
    for (std::size_t c = 0; c < plan_.C; ++c) {
      const std::size_t channel = group_ * plan_.C + c;
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t ih = oh + tap / 3 - call_.padTop, iw = ow + tap % 3 - call_.padLeft;  // wraps in the padding
        const std::size_t pixel = ih * call_.W + iw;
        const std::size_t at = planar ? channel * call_.H * call_.W + pixel : pixel * call_.C + channel;
        const T w = data_.w[planar ? (o * plan_.C + c) * 9 + tap : (tap * plan_.C + c) * call_.O + o];
        sum += (ih < call_.H && iw < call_.W ? x[at] : T(0)) * w;
      }
    }
    return sum;
  }

  const WinogradVariant<T>& v_;
  const ConvCall& call_;
  const Operands<T>& data_;
  const Plan<T>& plan_;
  const T* const u_;
  T* const inputs_;
  T* const products_;
  T* const own_;
  std::size_t group_ = 0;
  std::size_t count_ = 0;
  WinogradRun runs_[kMostTiles];
  int runCount_ = 0;
};

}  // namespace

template <class T>
std::size_t prepacked_elements(const WinogradVariant<T>& v, const ConvCall& call) {
  const Extents<T> extents(v, call);
  return times(times(call.groups, extents.positions), extents.strideU);
}

template <class T>
bool prepack(const WinogradVariant<T>& v, const ConvCall& call, const T* w, const Crew& crew, T* to) {
  const Extents<T> e(v, call);
  constexpr std::size_t unit = 48;  // a multiple of every panel's width and vector's length
  // Interleaved, the filters of one tap and channel lie side by side.
  const std::size_t step = call.interleaved ? round_up(parts(e.O, crew.threads), unit) : unit;
  const std::size_t steps = parts(e.O, step);
  return crew.each(call.groups * steps, [&](std::size_t task, unsigned) {
    const std::size_t group = task / steps, first = task % steps * step;
    transform_filters(v, call, e, w, group, first, std::min(step, e.O - first), e.strideU,
                      to + group * e.positions * e.strideU + first * e.C);
  });
}

template <class T>
bool winograd2d(const WinogradVariant<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew) {
  const T* const filters = data.prepacked;
  if (call.needOut() == 0) return true;
  const double macs = double(call.needOut()) * double(call.C / call.groups) * 9;
  const Crew team = crew.part_for(macs, kWorthOfThread);
  const Plan<T> plan(v, call, team.threads, filters != nullptr);
  const bool ahead = filters == nullptr && !plan.fused;
  const std::size_t transformed = ahead ? prepacked_elements(v, call) : 0;
  const Scratch scratch(times(plus(transformed, times(plan.elements(), team.threads)), sizeof(T)));
  T* const own = scratch.as<T>();
  if (ahead && !prepack(v, call, data.w, team, own)) return false;
  return team.each(call.groups * plan.blocks * plan.splits, [&](std::size_t task, unsigned slot) {
    Task<T>(v, call, data, plan, ahead ? own : filters, own + transformed + slot * plan.elements()).run(task);
  });
}

#define UHOP_INSTANTIATE(T)                                                                     \
  template std::size_t prepacked_elements(const WinogradVariant<T>&, const ConvCall&);          \
  template bool prepack(const WinogradVariant<T>&, const ConvCall&, const T*, const Crew&, T*); \
  template bool winograd2d(const WinogradVariant<T>&, const ConvCall&, const Operands<T>&, const Crew&);
UHOP_INSTANTIATE(float)
UHOP_INSTANTIATE(double)

}  // namespace uhop
