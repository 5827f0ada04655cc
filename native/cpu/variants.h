#pragma once
#include <concepts>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "../../kernels/cpu/kernels.h"

namespace uhop {

enum class Isa { baseline, neon, avx2, avx512 };
enum class DType { f32, f64, f16, bf16 };

template <class T>
concept Half = std::same_as<T, F16Bits> || std::same_as<T, Bf16Bits>;

/** What products of T are summed in. */
template <class T>
using Sum = std::conditional_t<Half<T>, float, T>;

template <class T>
struct GemmVariant {
  GemmKernel<T> kernel;
  std::size_t MR;
  std::size_t NR;
  std::size_t KC;
  FewRowsKernel<T> fewRows;
  InterleaveKernel<T> interleave;
  ImageKernel<T> image;
};

/** The f32 kernel, on panels that are widened and with a result that is narrowed. */
template <Half T>
struct GemmVariant<T> : GemmVariant<float> {
  InterleaveKernel<T> interleave;
  ImageKernel<T> image;
  WidenKernel<T> widen;
  NarrowKernel<T> narrow;
};

/** The f32 kernel, on operands that are widened and with a result that is narrowed. */
template <Half T>
struct HalfDepthwise {
  DepthwiseKernel<float> kernel;
  WidenKernel<T> widen;
  NarrowKernel<T> narrow;
};

/** F(m×m, 3×3) with the products of its positions by the gemm kernel. */
template <class T>
struct WinogradVariant {
  std::size_t m;
  WinogradKernels<T> transforms;
  GemmKernel<T> kernel;
  std::size_t MR;
  std::size_t NR;
  std::size_t KC;
};

using AnyKernel =
    std::variant<GemmVariant<float>, GemmVariant<double>, GemmVariant<F16Bits>, GemmVariant<Bf16Bits>,
                 WidenKernel<F16Bits>, WidenKernel<Bf16Bits>, NarrowKernel<F16Bits>, NarrowKernel<Bf16Bits>,
                 DepthwiseKernel<float>, DepthwiseKernel<double>, HalfDepthwise<F16Bits>, HalfDepthwise<Bf16Bits>,
                 WinogradVariant<float>, WinogradVariant<double>, ReluKernel<float>, ReluKernel<double>,
                 ReluKernel<F16Bits>, ReluKernel<Bf16Bits>>;

/** One line of variants.inc that this build contains. */
struct Variant {
  const char* name;
  const char* op;
  DType dtype;
  Isa isa;
  AnyKernel kernel;
};

/** In the order of variants.inc; the index is the handle that JS uses. */
const std::vector<Variant>& variants();

const char* name_of(Isa isa);
const char* name_of(DType dtype);

}  // namespace uhop
