/**
 * Seconds that a call is expected to take, with constants of a common server core per instruction set: good enough to
 * rank before anything has been measured. For matmul and relu a roofline of arithmetic and memory traffic.
 */
import { BYTES_PER_ELEMENT, type Call, type DType } from '../contract.ts';
import { type ConvKernel, convNanoseconds } from './conv-cost.ts';

/** f32 operations per second of one thread in the micro-kernel; f64 has half. */
const FLOPS: Readonly<Record<string, number>> = { avx512: 1.2e11, avx2: 7e10, neon: 3e10, baseline: 2e10 };
/** f32 elements of a vector; f64 has half, 16-bit elements are widened. */
const LANES: Readonly<Record<string, number>> = { avx512: 16, avx2: 8, neon: 4, baseline: 4 };
const PACKED_ELEMENTS = 1.5e9;
const BYTES = 8e9;
const CALL_SECONDS = 1.2e-6;
/** Multiply-adds below which another thread is not worth its wake-up; as in native/cpu/gemm_batch.h. */
const WORTH_OF_THREAD = 2 ** 20;

export type Kernel = 'gemm' | 'relu' | ConvKernel;

export interface Work {
  readonly macs: number;
  /** Elements that are packed into panels, counting repeats. */
  readonly packed: number;
  /** Bytes read or written once. */
  readonly bytes: number;
  readonly dtype: DType;
}

export function workOf(call: Call): Work {
  const { dtype } = call;
  const size = BYTES_PER_ELEMENT[dtype];
  const out = product(call.outShape);
  if (call.op === 'relu') return { dtype, macs: 0, packed: 0, bytes: 2 * out * size };
  if (call.op === 'matmul') {
    const sides = product(call.batch) * call.K * (call.M + call.N);
    return { dtype, macs: out * call.K, packed: sides, bytes: (sides + out) * size };
  }
  const taps = (call.C / call.groups) * call.KH * call.KW;
  const image = call.batch * call.C * call.H * call.W;
  return { dtype, macs: out * taps, packed: 0, bytes: (image + out + call.O * taps) * size };
}

function product(extents: readonly number[]): number {
  let all = 1;
  for (const extent of extents) all *= extent;
  return all;
}

export function secondsOf(call: Call, work: Work, kernel: Kernel, isa: string, threads: number): number {
  const { macs, packed, bytes, dtype } = work;
  const wide = dtype === 'f64' ? 0.5 : 1;
  const busy = Math.max(1, Math.min(threads, macs / WORTH_OF_THREAD));
  if (call.op === 'conv2d') {
    const lanes = (LANES[isa] ?? LANES.baseline!) * wide;
    return CALL_SECONDS + (convNanoseconds(call, kernel as ConvKernel, lanes, isa !== 'baseline') * 1e-9) / busy;
  }
  const rate = (FLOPS[isa] ?? FLOPS.baseline!) * wide;
  const arithmetic = ((2 * macs) / rate + packed / PACKED_ELEMENTS) / busy;
  return CALL_SECONDS + Math.max(arithmetic, bytes / BYTES);
}
