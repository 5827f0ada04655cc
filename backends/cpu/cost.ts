/**
 * Seconds that a call is expected to take: a roofline of arithmetic and memory traffic with constants of a common
 * server core per instruction set, good enough to rank before anything has been measured.
 */
import { BYTES_PER_ELEMENT, type Call } from '../contract.ts';

/** f32 operations per second of one thread in the micro-kernel; f64 has half. */
const FLOPS: Readonly<Record<string, number>> = { avx512: 1.2e11, avx2: 7e10, neon: 3e10, baseline: 2e10 };
/** The direct loops of depthwise convolution, and packing, move a vector or so per cycle. */
const DIRECT_SHARE = 0.15;
const PACKED_ELEMENTS = 1.5e9;
const BYTES = 8e9;
const CALL_SECONDS = 1.2e-6;
/** Multiply-adds below which another thread is not worth its wake-up; as in native/cpu/gemm_batch.h. */
const WORTH_OF_THREAD = 2 ** 20;

export type Kernel = 'gemm' | 'conv' | 'depthwise' | 'relu';

interface Work {
  readonly macs: number;
  /** Elements that are packed into panels, counting repeats. */
  readonly packed: number;
  /** Elements read or written once. */
  readonly moved: number;
}

function workOf(call: Call): Work {
  const out = call.outShape.reduce((n, extent) => n * extent, 1);
  if (call.op === 'relu') return { macs: 0, packed: 0, moved: 2 * out };
  if (call.op === 'matmul') {
    const { M, N, K } = call;
    const items = call.batch.reduce((n, extent) => n * extent, 1);
    const sides = items * K * (M + N);
    return { macs: out * K, packed: sides, moved: sides + out };
  }
  const taps = (call.C / call.groups) * call.KH * call.KW;
  const pixels = call.batch * call.OH * call.OW;
  const image = call.batch * call.C * call.H * call.W;
  return { macs: out * taps, packed: taps * (pixels * call.groups + call.O), moved: image + out + call.O * taps };
}

export function secondsOf(call: Call, kernel: Kernel, isa: string, threads: number): number {
  const { macs, packed, moved } = workOf(call);
  const direct = kernel === 'depthwise';
  const rate = (FLOPS[isa] ?? FLOPS.baseline!) * (call.dtype === 'f64' ? 0.5 : 1) * (direct ? DIRECT_SHARE : 1);
  const busy = Math.max(1, Math.min(threads, macs / WORTH_OF_THREAD));
  const arithmetic = ((2 * macs) / rate + (direct ? 0 : packed / PACKED_ELEMENTS)) / busy;
  const memory = (moved * BYTES_PER_ELEMENT[call.dtype]) / BYTES;
  return CALL_SECONDS + Math.max(arithmetic, memory);
}
