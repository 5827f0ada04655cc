#pragma once
#include "../../native/cpu/conv.h"
#include "../../native/cpu/matmul.h"
#include "../../native/cpu/winograd.h"
#include "report.h"

// One check per kind of kernel; `check` of the kind that a registry line has is all of them together.

namespace uhop::check {

/** Whether this processor runs what this build compiled for that instruction set. */
bool can_run(Isa isa);

/** The micro-kernel alone: every m ≤ MR and n ≤ NR. */
template <class T>
void check_tiles(const GemmVariant<T>& v, Effort effort, Report& report);

/** Whole products through `matmul`. */
template <class T>
void check_matmul(const GemmVariant<T>& v, Effort effort, Report& report);

/** Whole convolutions through `conv2d`. */
template <class T>
void check_conv2d(const GemmVariant<T>& v, Effort effort, Report& report);

/** Through `depthwise2d`. */
void check(const DepthwiseKernel<float>& kernel, Effort effort, Report& report);
void check(const DepthwiseKernel<double>& kernel, Effort effort, Report& report);
void check(const HalfDepthwise<F16Bits>& v, Effort effort, Report& report);
void check(const HalfDepthwise<Bf16Bits>& v, Effort effort, Report& report);

/** Through `winograd2d`, within the bound of a tile. */
void check(const WinogradVariant<float>& v, Effort effort, Report& report);
void check(const WinogradVariant<double>& v, Effort effort, Report& report);

void check(const ReluKernel<float>& kernel, Effort effort, Report& report);
void check(const ReluKernel<double>& kernel, Effort effort, Report& report);
void check(const ReluKernel<F16Bits>& kernel, Effort effort, Report& report);
void check(const ReluKernel<Bf16Bits>& kernel, Effort effort, Report& report);
void check(const WidenKernel<F16Bits>& kernel, Effort effort, Report& report);
void check(const WidenKernel<Bf16Bits>& kernel, Effort effort, Report& report);
void check(const NarrowKernel<F16Bits>& kernel, Effort effort, Report& report);
void check(const NarrowKernel<Bf16Bits>& kernel, Effort effort, Report& report);

/** Half of a 16-bit GEMM's kernel is that of f32, which has a line and a check of its own. */
template <class T>
void check(const GemmVariant<T>& v, Effort effort, Report& report) {
  if constexpr (!Half<T>) check_tiles(v, effort, report);
  check_matmul(v, effort, report);
  check_conv2d(v, effort, report);
}

}  // namespace uhop::check
