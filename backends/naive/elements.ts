import { type DType, type Operands, type TensorData, UhopError } from '../contract.ts';
import { decodeHalf, toBits } from '../half.ts';

export type Numbers = Float32Array | Float64Array;

/** The elements as numbers: the array itself, or f16/bf16 bits decoded. */
export function numbers(data: TensorData, dtype: DType): Numbers {
  if (dtype === 'f16' || dtype === 'bf16') return allocating(() => decodeHalf(data as Uint16Array, dtype));
  return data as Numbers;
}

/** Lets `fill` write f64 results, each rounded once to an element of `out`: at once, or f16/bf16 bits at the end. */
export function writing({ out }: Operands, dtype: DType, fill: (results: Numbers) => void): void {
  if (dtype !== 'f16' && dtype !== 'bf16') {
    fill(out as Numbers);
    return;
  }
  const results = allocating(() => new Float64Array(out.length));
  fill(results);
  for (let i = 0; i < out.length; i++) out[i] = toBits(results[i]!, dtype);
}

/** NaN stays NaN, -0 becomes 0. */
export function positive(value: number): number {
  return value > 0 || Number.isNaN(value) ? value : 0;
}

/** Scratch memory that cannot be had is the path's failure, not the caller's. */
export function allocating<T>(allocate: () => T): T {
  try {
    return allocate();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new UhopError('E_OUT_OF_MEMORY', `naive: no memory for scratch space (${cause.message})`, {}, cause);
  }
}
