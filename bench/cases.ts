/** A measured call: what a line of a shapes file means to us, to ONNX and to the programs in peers/. */
import type { Call, Conv2dCall, MatmulCall } from '../backends/contract.ts';
import { type DescribeOptions, plan } from '../lib/ops/plan.ts';
import { random } from './random.ts';
import type { Flag, ShapeLine } from './shapes.ts';

/** What a call is short of, and so what its speed is a share of: multiply-adds, or bytes copied or read from memory. */
export type Bound = 'fma' | 'copy' | 'stream';

export interface Case {
  readonly label: string;
  readonly call: Call;
  /** Options of the public call, without `out`. */
  readonly options: DescribeOptions;
  readonly shapes: readonly (readonly number[])[];
  readonly flops: number;
  /** Read and written once each. */
  readonly bytes: number;
  readonly bound: Bound;
  has(flag: Flag): boolean;
}

/** A call that does less arithmetic on a byte, on more bytes than a cache holds, waits for memory. */
const FLOPS_PER_BYTE = 8;
const CACHED_BYTES = 32 * 2 ** 20;

/** @throws UhopError when the shapes do not fit each other, Error when the peers cannot be asked for such a call. */
export function caseOf({ text, op, operands, flags, numbers }: ShapeLine): Case {
  const has = (flag: Flag): boolean => flags.includes(flag);
  const { stride, pad, groups } = numbers;
  const options: DescribeOptions = {
    ...(has('transposeA') && { transposeA: true }),
    ...(has('transposeB') && { transposeB: true }),
    ...(has('nhwc') && { layout: 'nhwc' }),
    ...(stride !== undefined && { stride }),
    ...(pad !== undefined && { padding: pad }),
    ...(groups !== undefined && { groups }),
  };
  const { call, flops, traffic } = plan(op, operands, options);
  if (call.op === 'matmul' && call.batch.length > 1) throw new Error(`${text}: one batch axis at the most`);
  const starved = flops / traffic < FLOPS_PER_BYTE && traffic > CACHED_BYTES;
  const memory = call.op === 'relu' ? 'copy' : 'stream';
  return { label: text, call, options, shapes: operands, flops, bytes: traffic, bound: starved ? memory : 'fma', has };
}

/** The operands, new each time, alike for every contender. */
export function inputsOf({ shapes }: Case): Float32Array[] {
  return shapes.map((shape, at) => random(sizeOf(shape), at + 1));
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1);
}

/** How the case is put to a program of peers/, in the order of the fields of ops.h. */
export function peerLine({ call, has }: Case, threads: number, blocked = false): string {
  if (call.op === 'matmul') return ['matmul', threads, ...matmulNumbers(call), Number(has('prepacked'))].join(' ');
  if (call.op === 'relu') return ['relu', threads, call.length, Number(has('in-place'))].join(' ');
  return ['conv2d', threads, ...conv2dNumbers(call), Number(blocked)].join(' ');
}

function matmulNumbers(call: MatmulCall): number[] {
  const { M, N, K, transposeA, transposeB, batch, batchStridesA, batchStridesB } = call;
  const strides = [batchStridesA[0] ?? 0, batchStridesB[0] ?? 0];
  return [batch[0] ?? 1, M, N, K, Number(transposeA), Number(transposeB), ...strides];
}

function conv2dNumbers(call: Conv2dCall): number[] {
  const { layout, batch, C, H, W, O, KH, KW, OH, OW, strideH, strideW, groups } = call;
  const padding = [call.padTop, call.padLeft, call.padBottom, call.padRight];
  return [Number(layout === 'nhwc'), batch, C, H, W, O, KH, KW, OH, OW, strideH, strideW, ...padding, groups];
}
