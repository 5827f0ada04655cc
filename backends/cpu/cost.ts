/**
 * Seconds that a call is expected to take: a roofline of arithmetic and memory traffic with constants of a common
 * server core per instruction set, good enough to rank before anything has been measured.
 */
import { BYTES_PER_ELEMENT, type Call, type DType } from '../contract.ts';

/** f32 operations per second of one thread in the micro-kernel; f64 has half. */
const FLOPS: Readonly<Record<string, number>> = { avx512: 1.2e11, avx2: 7e10, neon: 3e10, baseline: 2e10 };
/** The direct loops of depthwise convolution, and packing, move a vector or so per cycle. */
const DIRECT_SHARE = 0.15;
const PACKED_ELEMENTS = 1.5e9;
const BYTES = 8e9;
const CALL_SECONDS = 1.2e-6;
/** Multiply-adds below which another thread is not worth its wake-up; as in native/cpu/gemm_batch.h. */
const WORTH_OF_THREAD = 2 ** 20;

export type Kernel = 'gemm' | 'conv' | 'depthwise' | 'winograd' | 'winograd4' | 'relu';

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
  const packed = taps * (call.batch * call.OH * call.OW * call.groups + call.O);
  const image = call.batch * call.C * call.H * call.W;
  return { dtype, macs: out * taps, packed, bytes: (image + out + call.O * taps) * size };
}

function product(extents: readonly number[]): number {
  let all = 1;
  for (const extent of extents) all *= extent;
  return all;
}

export function secondsOf({ macs, packed, bytes, dtype }: Work, kernel: Kernel, isa: string, threads: number): number {
  const direct = kernel === 'depthwise';
  const rate = (FLOPS[isa] ?? FLOPS.baseline!) * (dtype === 'f64' ? 0.5 : 1) * (direct ? DIRECT_SHARE : 1);
  const busy = Math.max(1, Math.min(threads, macs / WORTH_OF_THREAD));
  const arithmetic = ((2 * macs) / rate + (direct ? 0 : packed / PACKED_ELEMENTS)) / busy;
  return CALL_SECONDS + Math.max(arithmetic, bytes / BYTES);
}
