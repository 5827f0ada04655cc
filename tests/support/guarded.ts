import type { DType, TensorData } from '../../backends/contract.ts';

/** A typed array inside a larger one, at any element offset, between elements that nobody may touch. */
export interface Guarded<T extends TensorData> {
  readonly data: T;
  /** True while every element around `data` holds what it was given. */
  intact(): boolean;
}

const GUARD = 16;

const ARRAYS = { f32: Float32Array, f64: Float64Array, f16: Uint16Array, bf16: Uint16Array } as const;

/** `length` elements at `offset` elements past the front guard; guards are NaN, so that reading one shows in a sum. */
export function guarded(dtype: 'f32', length: number, offset?: number): Guarded<Float32Array>;
export function guarded(dtype: DType, length: number, offset?: number): Guarded<TensorData>;
export function guarded(dtype: DType, length: number, offset = 0): Guarded<TensorData> {
  const Kind = ARRAYS[dtype];
  const bits = { f32: Number.NaN, f64: Number.NaN, f16: 0x7e01, bf16: 0x7fc1 }[dtype];
  const whole = new Kind(GUARD + offset + length + GUARD).fill(bits);
  const from = GUARD + offset;
  const data = whole.subarray(from, from + length);
  const untouched = (value: number): boolean => Object.is(value, bits);
  const intact = (): boolean =>
    whole.subarray(0, from).every(untouched) && whole.subarray(from + length).every(untouched);
  return { data, intact };
}
