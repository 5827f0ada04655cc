#include "work.h"

#include <algorithm>

#include "../cpu/conv.h"
#include "../cpu/elementwise.h"
#include "../cpu/matmul.h"
#include "../cpu/scratch.h"
#include "../cpu/winograd.h"
#include "../probe/isa.h"

namespace uhop {

namespace {

enum Op { kMatmul, kConv2d, kRelu, kConvert, kPrepack };

/** Reads the numbers of a call: exact non-negative integers. */
class Shape {
 public:
  explicit Shape(const View& view) : at_(static_cast<const double*>(view.data)), left_(view.length) {
    if (view.type != napi_float64_array) throw BadArgument{"shape: expected a Float64Array"};
  }
  std::size_t number() {
    if (left_ == 0) throw BadArgument{"shape: too few numbers"};
    const double value = *at_++;
    --left_;
    if (!(value >= 0 && value <= 9007199254740991.0) || value != double(std::size_t(value))) {
      throw BadArgument{"shape: expected exact non-negative integers"};
    }
    return std::size_t(value);
  }
  std::size_t positive() {
    const std::size_t value = number();
    if (value == 0) throw BadArgument{"shape: expected a positive number"};
    return value;
  }
  bool flag() { return number() != 0; }

 private:
  const double* at_;
  std::size_t left_;
};

template <class T>
constexpr napi_typedarray_type array_type() {
  return sizeof(T) == 8 ? napi_float64_array : sizeof(T) == 4 ? napi_float32_array : napi_uint16_array;
}

template <class T>
const T* elements(napi_env env, napi_value value, const char* name, std::size_t need) {
  const View view = view_of(env, value, name);
  if (view.type != array_type<T>()) throw BadArgument{std::string(name) + ": wrong kind of typed array"};
  if (view.length < need) {
    throw BadArgument{std::string(name) + ": holds " + std::to_string(view.length) + " elements, the call needs " +
                      std::to_string(need)};
  }
  return static_cast<const T*>(view.data);
}

template <class T>
Operands<T> operands(napi_env env, const napi_value* at, std::size_t x, std::size_t w, std::size_t bias,
                     std::size_t out) {
  return {elements<T>(env, at[3], "x", x), w == 0 ? nullptr : elements<T>(env, at[4], "w", w),
          bias == 0 ? nullptr : elements<T>(env, at[5], "bias", bias),
          const_cast<T*>(elements<T>(env, at[6], "out", out))};
}

MatmulCall read_matmul(Shape& shape) {
  MatmulCall call{.M = shape.number(),
                  .N = shape.number(),
                  .K = shape.number(),
                  .transposeA = shape.flag(),
                  .transposeB = shape.flag(),
                  .bias = Bias(std::min<std::size_t>(shape.number(), 2)),
                  .relu = shape.flag(),
                  .batch = {}};
  const std::size_t rank = shape.number();
  for (std::size_t i = 0; i < rank; ++i) call.batch.push_back({shape.number(), shape.number(), shape.number()});
  return call;
}

ConvCall read_conv(Shape& shape) {
  const ConvCall call{.batch = shape.number(),
                      .C = shape.number(),
                      .H = shape.number(),
                      .W = shape.number(),
                      .O = shape.number(),
                      .KH = shape.positive(),
                      .KW = shape.positive(),
                      .OH = shape.number(),
                      .OW = shape.number(),
                      .strideH = shape.positive(),
                      .strideW = shape.positive(),
                      .dilationH = shape.positive(),
                      .dilationW = shape.positive(),
                      .padTop = shape.number(),
                      .padLeft = shape.number(),
                      .groups = shape.positive(),
                      .interleaved = shape.flag(),
                      .bias = shape.flag(),
                      .relu = shape.flag()};
  if (call.C % call.groups != 0 || call.O % call.groups != 0) {
    throw BadArgument{"shape: the channels do not divide into the groups"};
  }
  // Positions in the padded image are signed 64-bit numbers; taps are counted also where no channel has any.
  constexpr std::size_t most = std::size_t(1) << 48;
  if (times(call.OH, call.strideH) > most || times(call.OW, call.strideW) > most ||
      times(call.KH, call.dilationH) > most || times(call.KW, call.dilationW) > most ||
      times(call.KH, call.KW) > most || call.padTop > most || call.padLeft > most) {
    throw BadArgument{"shape: the image is too large"};
  }
  return call;
}

/** JavaScript's arrays begin anywhere; panels begin at a cache line inside of them. */
template <class T>
std::size_t with_room(std::size_t elements) {
  return elements == 0 ? 0 : plus(elements, kAlignment / sizeof(T));
}

template <class T>
T* aligned(T* data) {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(data);
  return reinterpret_cast<T*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

/** Adds the prepacked w to the operands of a call, where there is one. */
template <class T>
Operands<T> with_prepacked(napi_env env, napi_value value, std::size_t need, Operands<T> data) {
  if (is_nothing(env, value)) return data;
  if (need == 0) throw BadArgument{"prepacked: this call has no use for it"};
  data.prepacked = aligned(elements<Sum<T>>(env, value, "prepacked", with_room<T>(need)));
  return data;
}

[[noreturn]] void refuse_variant() { throw BadArgument{"variant: does not compute this op"}; }

/** 16-bit weights are left as they are: their panels would be twice as large. */
template <class Variant, class Call>
std::size_t prepacked_of(const Variant& v, const Call& call) {
  if constexpr (requires { prepacked_elements(v, call); }) return prepacked_elements(v, call);
  return 0;
}
template <Half T, class Call>
std::size_t prepacked_of(const GemmVariant<T>&, const Call&) {
  return 0;
}

template <class T, class Variant, class Call>
Work bind_prepack(const Variant& v, const Call& call, std::size_t need, napi_env env, const napi_value* at) {
  const std::size_t length = prepacked_of(v, call);
  if (length == 0) refuse_variant();
  if constexpr (!Half<T> && requires(T * to) { prepack(v, call, to, Crew{}, to); }) {
    const T* const w = elements<T>(env, at[3], "x", need);
    T* const to = aligned(const_cast<T*>(elements<T>(env, at[6], "out", with_room<T>(length))));
    return [&v, call, w, to, length](const Crew& crew) {
      prefer_huge_pages(to, length * sizeof(T));
      return prepack(v, call, w, crew, to);
    };
  }
  refuse_variant();
}

template <class T, class Variant>
Work bind_prepack(const Variant& v, napi_env env, const napi_value* at, Shape& shape) {
  const Op of = Op(std::min<std::size_t>(shape.number(), kPrepack));
  if (of == kMatmul) {
    const MatmulCall call = read_matmul(shape);
    return bind_prepack<T>(v, call, call.needB(), env, at);
  }
  if (of != kConv2d) refuse_variant();
  const ConvCall call = read_conv(shape);
  return bind_prepack<T>(v, call, call.needW(), env, at);
}

template <class T, class Variant>
Operands<T> conv_operands(const Variant& v, const ConvCall& call, napi_env env, const napi_value* at) {
  return with_prepacked<T>(env, at[7], prepacked_of(v, call),
                           operands<T>(env, at, call.needX(), call.needW(), call.bias ? call.O : 0, call.needOut()));
}

template <class T>
Work bind_gemm(const GemmVariant<T>& v, napi_env env, const napi_value* at, Shape& shape, Op op) {
  if (op == kPrepack) return bind_prepack<T>(v, env, at, shape);
  if (op == kMatmul) {
    const MatmulCall call = read_matmul(shape);
    const std::size_t bias = call.bias == Bias::none ? 0 : call.bias == Bias::row ? call.N : 1;
    const auto data = with_prepacked<T>(env, at[7], prepacked_of(v, call),
                                        operands<T>(env, at, call.needA(), call.needB(), bias, call.needOut()));
    return [&v, call, data](const Crew& crew) { return matmul(v, call, data, crew); };
  }
  if (op != kConv2d) refuse_variant();
  const ConvCall call = read_conv(shape);
  const auto data = conv_operands<T>(v, call, env, at);
  return [&v, call, data](const Crew& crew) { return conv2d(v, call, data, crew); };
}

template <class T, class Kernel>
Work bind_depthwise(const Kernel& kernel, napi_env env, const napi_value* at, Shape& shape, Op op) {
  if (op != kConv2d) refuse_variant();
  const ConvCall call = read_conv(shape);
  if (!call.depthwise()) refuse_variant();
  const auto data = operands<T>(env, at, call.needX(), call.needW(), call.bias ? call.O : 0, call.needOut());
  return [kernel, call, data](const Crew& crew) { return depthwise2d(kernel, call, data, crew); };
}

template <class T>
Work bind_winograd(const WinogradVariant<T>& v, napi_env env, const napi_value* at, Shape& shape, Op op) {
  if (op == kPrepack) return bind_prepack<T>(v, env, at, shape);
  if (op != kConv2d) refuse_variant();
  const ConvCall call = read_conv(shape);
  if (!call.winograd()) refuse_variant();
  const auto data = conv_operands<T>(v, call, env, at);
  return [&v, call, data](const Crew& crew) { return winograd2d(v, call, data, crew); };
}

template <class T>
Work bind_relu(ReluKernel<T> kernel, napi_env env, const napi_value* at, Shape& shape, Op op) {
  if (op != kRelu) refuse_variant();
  const std::size_t length = shape.number();
  const T* const x = elements<T>(env, at[3], "x", length);
  T* const y = const_cast<T*>(elements<T>(env, at[6], "out", length));
  return [=](const Crew& crew) { return relu(kernel, length, x, y, crew); };
}

template <class X, class Y>
Work bind_conversion(void (*kernel)(const X*, Y*, std::size_t), napi_env env, const napi_value* at, Shape& shape,
                     Op op) {
  if (op != kConvert) refuse_variant();
  const std::size_t length = shape.number();
  const X* const x = elements<X>(env, at[3], "x", length);
  Y* const y = const_cast<Y*>(elements<Y>(env, at[6], "out", length));
  return [=](const Crew& crew) { return elementwise(kernel, length, x, y, crew); };
}

struct Binder {
  napi_env env;
  const napi_value* at;
  Shape& shape;
  Op op;

  template <class T>
  Work operator()(const GemmVariant<T>& v) const {
    return bind_gemm(v, env, at, shape, op);
  }
  template <class T>
  Work operator()(const DepthwiseKernel<T>& kernel) const {
    return bind_depthwise<T>(kernel, env, at, shape, op);
  }
  template <class T>
  Work operator()(const HalfDepthwise<T>& v) const {
    return bind_depthwise<T>(v, env, at, shape, op);
  }
  template <class T>
  Work operator()(const WinogradVariant<T>& v) const {
    return bind_winograd(v, env, at, shape, op);
  }
  template <class T>
  Work operator()(const ReluKernel<T>& kernel) const {
    return bind_relu(kernel, env, at, shape, op);
  }
  template <class X, class Y>
  Work operator()(void (*const& kernel)(const X*, Y*, std::size_t)) const {
    return bind_conversion(kernel, env, at, shape, op);
  }
};

const Variant& variant_of(napi_env env, napi_value value) {
  const std::uint32_t index = index_of(env, value, "variant");
  if (index >= variants().size()) throw BadArgument{"variant: no such variant"};
  return variants()[index];
}

}  // namespace

std::size_t weight_length(napi_env env, napi_value variant, napi_value numbers) {
  Shape shape(view_of(env, numbers, "shape"));
  const Op op = Op(std::min<std::size_t>(shape.number(), kPrepack));
  const auto room = [&](const auto& call) {
    const auto of = [&](const auto& kernel) { return with_room<float>(prepacked_of(kernel, call)); };
    return std::visit(of, variant_of(env, variant).kernel);
  };
  return op == kMatmul ? room(read_matmul(shape)) : op == kConv2d ? room(read_conv(shape)) : 0;
}

BoundCall::BoundCall(napi_env env, const napi_value* at) {
  const Variant& variant = variant_of(env, at[0]);
  if (!runs_here(variant.isa)) throw BadArgument{std::string("variant: this processor lacks ") + name_of(variant.isa)};
  threads = std::clamp(index_of(env, at[1], "threads"), 1u, 512u);
  Shape shape(view_of(env, at[2], "shape"));
  const std::size_t op = shape.number();
  if (op != kMatmul && op != kConv2d && !is_nothing(env, at[7])) {
    throw BadArgument{"prepacked: this call has no use for it"};
  }
  work = std::visit(Binder{env, at, shape, Op(std::min<std::size_t>(op, kPrepack))}, variant.kernel);
}

}  // namespace uhop
