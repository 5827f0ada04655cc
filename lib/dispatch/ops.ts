/** The ops as users call them. */
import type { ResultTensor } from '../../backends/contract.ts';
import type { Conv2dAttributes } from '../ops/conv2d.ts';
import type { Attributes } from '../ops/describe.ts';
import type { MatmulAttributes } from '../ops/matmul.ts';
import type { PrepackedTensor, TensorLike } from '../tensor.ts';
import { runtime } from './registry.ts';
import { run, runSync } from './run.ts';

/** What an op takes; see `prepack` for weights that many calls use. */
export type Operand = TensorLike | PrepackedTensor;

/** How any op runs. */
export interface SyncOptions {
  /**
   * Where the result goes: same shape and dtype, fully overwritten. It may overlap an input; the answer is as if it did
   * not.
   */
  readonly out?: TensorLike | undefined;
  /** A backend or path id, e.g. `'cpu'` or `'naive:js'`: that or `E_BACKEND_UNAVAILABLE`. Default `UHOP_BACKEND`. */
  readonly backend?: string | undefined;
}

export interface AsyncOptions extends SyncOptions {
  /** Rejects with `E_ABORTED`, the signal's reason as cause, between two tiles of the work. */
  readonly signal?: AbortSignal | undefined;
  /**
   * A promise not to touch the inputs until the call settles, which saves the copy of those in a `SharedArrayBuffer`.
   * Other inputs, and views of growable buffers, are copied nevertheless: a broken promise must not crash the process.
   */
  readonly borrow?: boolean | undefined;
}

interface Bias {
  readonly bias?: TensorLike | undefined;
}

export type MatmulSyncOptions = Omit<MatmulAttributes, 'bias'> & Bias & SyncOptions;
export type MatmulOptions = MatmulSyncOptions & AsyncOptions;
export type Conv2dSyncOptions = Omit<Conv2dAttributes, 'bias'> & Bias & SyncOptions;
export type Conv2dOptions = Conv2dSyncOptions & AsyncOptions;
export type ReluSyncOptions = Pick<Attributes, 'precision'> & SyncOptions;
export type ReluOptions = ReluSyncOptions & AsyncOptions;

/**
 * activation(a·b + bias) as NumPy's and ONNX's `MatMul`: `a` [..., M, K], `b` [..., K, N], result [..., M, N]; leading
 * axes broadcast, a 1-D `a` is a row and a 1-D `b` a column whose axis is dropped again, zero sizes are ordinary (K = 0
 * gives zeros). `transposeA` and `transposeB` swap the last two axes of an operand without a copy. `bias` is [the
 * result's last axis], [1] or [].
 *
 * The inputs are taken as they are at the call. Errors reject: `E_ARGUMENT`, `E_SHAPE`, `E_DTYPE`, `E_DETACHED`, `E_LIMIT`,
 * `E_BACKEND_UNAVAILABLE`, `E_ABORTED`, `E_OUT_OF_MEMORY`, `E_DEVICE_LOST`.
 */
export function matmul(a: Operand, b: Operand, options?: MatmulOptions): Promise<ResultTensor> {
  return run(runtime, 'matmul', [a, b], options);
}

/** `matmul`, computed before it returns; errors are thrown. */
export function matmulSync(a: Operand, b: Operand, options?: MatmulSyncOptions): ResultTensor {
  return runSync(runtime, 'matmul', [a, b], options);
}

/**
 * 2-D convolution as ONNX `Conv`. `layout: 'nchw'`: `x` [batch, C, H, W], `w` [O, C/groups, KH, KW], result
 * [batch, O, OH, OW]; `'nhwc'`: `x` [batch, H, W, C], `w` [KH, KW, C/groups, O], result [batch, OH, OW, O].
 * OH = ⌊(H + top + bottom - ((KH - 1)·dilation + 1)) / stride⌋ + 1, OW alike. `bias` is [O]. Errors as `matmul`.
 */
export function conv2d(x: Operand, w: Operand, options?: Conv2dOptions): Promise<ResultTensor> {
  return run(runtime, 'conv2d', [x, w], options);
}

/** `conv2d`, computed before it returns; errors are thrown. */
export function conv2dSync(x: Operand, w: Operand, options?: Conv2dSyncOptions): ResultTensor {
  return runSync(runtime, 'conv2d', [x, w], options);
}

/**
 * x > 0 ? x : 0 for every element of any shape; NaN stays NaN and -0 becomes 0. In place with `out: x`. Errors as
 * `matmul`.
 */
export function relu(x: TensorLike, options?: ReluOptions): Promise<ResultTensor> {
  return run(runtime, 'relu', [x], options);
}

/** `relu`, computed before it returns; errors are thrown. */
export function reluSync(x: TensorLike, options?: ReluSyncOptions): ResultTensor {
  return runSync(runtime, 'relu', [x], options);
}
