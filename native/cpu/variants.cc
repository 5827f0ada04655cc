#include "variants.h"

namespace uhop {

#define UHOP_GEMM(dtype, T, isa, MR, NR, KC)                  \
  void dtype##_gemm__##isa##_##MR##x##NR(const GemmTile<T>&); \
  void dtype##_few_rows__##isa(const GemmTile<T>&, T*);       \
  void dtype##_interleave__##isa(const T* const*, std::size_t, std::size_t, std::size_t, T*);
#define UHOP_HALF_GEMM(dtype, T, isa, MR, NR, KC) \
  void dtype##_interleave__##isa(const T* const*, std::size_t, std::size_t, std::size_t, T*);
#define UHOP_IMAGE(dtype, T, isa) void dtype##_image__##isa(const ImagePanel<T>&);
#define UHOP_HALF(dtype, T, isa)                            \
  void dtype##_widen__##isa(const T*, float*, std::size_t); \
  void dtype##_narrow__##isa(const float*, T*, std::size_t);
#define UHOP_DEPTHWISE(dtype, T, isa) void dtype##_depthwise__##isa(const DepthwiseRows<T>&);
#define UHOP_WINOGRAD(dtype, T, isa, m, MR, NR, KC)                     \
  void dtype##_winograd##m##_filters__##isa(const WinogradFilters<T>&); \
  void dtype##_winograd##m##_input__##isa(const WinogradInput<T>&);     \
  bool dtype##_winograd##m##_output__##isa(const WinogradOutput<T>&);
#define UHOP_RELU(dtype, T, isa) void dtype##_relu__##isa(const T*, T*, std::size_t, bool);
#include "../../kernels/cpu/variants.inc"

const std::vector<Variant>& variants() {
#define UHOP_GEMM(dtype, T, isa, MR, NR, KC)                                                     \
  Variant{#dtype "_gemm__" #isa "_" #MR "x" #NR, "gemm", DType::dtype, Isa::isa,                 \
          GemmVariant<T>{dtype##_gemm__##isa##_##MR##x##NR, MR, NR, KC, dtype##_few_rows__##isa, \
                         dtype##_interleave__##isa, dtype##_image__##isa}},
#define UHOP_HALF(dtype, T, isa)                                                                           \
  Variant{#dtype "_widen__" #isa, "widen", DType::dtype, Isa::isa, WidenKernel<T>(&dtype##_widen__##isa)}, \
      Variant{#dtype "_narrow__" #isa, "narrow", DType::dtype, Isa::isa, NarrowKernel<T>(&dtype##_narrow__##isa)},
#define UHOP_HALF_GEMM(dtype, T, isa, MR, NR, KC)                                                                \
  Variant{#dtype "_gemm__" #isa "_" #MR "x" #NR, "gemm", DType::dtype, Isa::isa,                                 \
          GemmVariant<T>{{f32_gemm__##isa##_##MR##x##NR, MR, NR, KC, f32_few_rows__##isa, f32_interleave__##isa, \
                          f32_image__##isa},                                                                     \
                         dtype##_interleave__##isa,                                                              \
                         dtype##_image__##isa,                                                                   \
                         dtype##_widen__##isa,                                                                   \
                         dtype##_narrow__##isa}},
#define UHOP_DEPTHWISE(dtype, T, isa) \
  Variant{#dtype "_depthwise__" #isa, "depthwise", DType::dtype, Isa::isa, &dtype##_depthwise__##isa},
#define UHOP_HALF_DEPTHWISE(dtype, T, isa)                                 \
  Variant{#dtype "_depthwise__" #isa, "depthwise", DType::dtype, Isa::isa, \
          HalfDepthwise<T>{f32_depthwise__##isa, dtype##_widen__##isa, dtype##_narrow__##isa}},
#define UHOP_WINOGRAD(dtype, T, isa, m, MR, NR, KC)                                                     \
  Variant{#dtype "_winograd" #m "__" #isa "_" #MR "x" #NR, "winograd" #m, DType::dtype, Isa::isa,       \
          WinogradVariant<T>{m,                                                                         \
                             {dtype##_winograd##m##_filters__##isa, dtype##_winograd##m##_input__##isa, \
                              dtype##_winograd##m##_output__##isa},                                     \
                             dtype##_gemm__##isa##_##MR##x##NR,                                         \
                             MR,                                                                        \
                             NR,                                                                        \
                             KC}},
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
