/** Reproducible numbers, evenly spread over [-1, 1). */
import { generator } from './random.ts';

export function randomNumbers(length: number, seed: number): Float64Array {
  const next = generator(seed);
  return Float64Array.from({ length }, () => 2 * next() - 1);
}

export function randomFloats(length: number, seed: number): Float32Array {
  return Float32Array.from(randomNumbers(length, seed));
}
