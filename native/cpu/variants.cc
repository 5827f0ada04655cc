#include "variants.h"

namespace uhop {

#define UHOP_GEMM(dtype, T, isa, MR, NR, KC) void dtype##_gemm__##isa##_##MR##x##NR(const GemmTile<T>&);
#define UHOP_DEPTHWISE(dtype, T, isa) void dtype##_depthwise__##isa(const DepthwiseRow<T>&);
#define UHOP_RELU(dtype, T, isa) void dtype##_relu__##isa(const T*, T*, std::size_t);
#include "../../kernels/cpu/variants.inc"

const std::vector<Variant>& variants() {
#define UHOP_GEMM(dtype, T, isa, MR, NR, KC)                                 \
  Variant{#dtype "_gemm__" #isa "_" #MR "x" #NR, "gemm", DType::dtype, Isa::isa, \
          GemmVariant<T>{dtype##_gemm__##isa##_##MR##x##NR, MR, NR, KC}},
#define UHOP_DEPTHWISE(dtype, T, isa) \
  Variant{#dtype "_depthwise__" #isa, "depthwise", DType::dtype, Isa::isa, &dtype##_depthwise__##isa},
#define UHOP_RELU(dtype, T, isa) \
  Variant{#dtype "_relu__" #isa, "relu", DType::dtype, Isa::isa, ReluKernel<T>(&dtype##_relu__##isa)},
  static const std::vector<Variant>* const all = new std::vector<Variant>{
#include "../../kernels/cpu/variants.inc"
  };
  return *all;
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::neon:
      return "neon";
    default:
      return "baseline";
  }
}

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::f16:
      return "f16";
    default:
      return "bf16";
  }
}

}  // namespace uhop
