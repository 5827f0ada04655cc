/**
 * How far a result may lie from the exact one, the same on every path.
 *
 * A sum of n products, computed in any order and with or without fused multiply-add, is within
 * γ_n·Σ|a_k|·|b_k| of the exact sum, γ_n = n·u / (1 - n·u), u = ε/2 (N. J. Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., §3.1). A bias adds one operation; f16 and bf16 accumulate in f32 and round once more on storing.
 * Products below the normal range add at most half a subnormal each (§2.2), the floor.
 */
import type { Call, DType } from '../../backends/contract.ts';
import { depth } from './cost.ts';

interface Format {
  /** Distance from 1 to the next number. */
  readonly epsilon: number;
  readonly smallest: number;
  readonly largest: number;
}

const FORMATS: Readonly<Record<DType, Format>> = {
  f32: { epsilon: 2 ** -23, smallest: 2 ** -149, largest: (2 - 2 ** -23) * 2 ** 127 },
  f64: { epsilon: 2 ** -52, smallest: 2 ** -1074, largest: Number.MAX_VALUE },
  f16: { epsilon: 2 ** -10, smallest: 2 ** -24, largest: 65504 },
  bf16: { epsilon: 2 ** -7, smallest: 2 ** -133, largest: (2 - 2 ** -7) * 2 ** 127 },
};

/** |y - ref| ≤ c·epsilon·(|A|·|B| + |bias|) + floor for every element. */
export interface Tolerance {
  readonly c: number;
  readonly epsilon: number;
  readonly floor: number;
  /** Beyond this a result may be infinite. */
  readonly largest: number;
}

/** The tolerance of a call; relu is exact (c = 0). */
export function tolerance(call: Call): Tolerance {
  const stored = FORMATS[call.dtype];
  if (call.op === 'relu') return { c: 0, epsilon: stored.epsilon, floor: 0, largest: stored.largest };
  const summed = call.dtype === 'f64' ? FORMATS.f64 : FORMATS.f32;
  const operations = depth(call) + 1;
  const roundoff = (operations * summed.epsilon) / 2;
  const gamma = roundoff / (1 - roundoff);
  const store = stored === summed ? 0 : stored.epsilon / 2;
  return {
    // From n·u = 1 on, the theory bounds nothing.
    c: roundoff < 1 ? (gamma + store * (1 + gamma)) / stored.epsilon : Infinity,
    epsilon: stored.epsilon,
    floor: (operations * summed.smallest + (stored === summed ? 0 : stored.smallest)) / 2,
    largest: stored.largest,
  };
}

/** Whether `y` is acceptable where `reference` was computed in f64 and `scale` is (|A|·|B| + |bias|) of that element. */
export function isWithin(
  { c, epsilon, floor, largest }: Tolerance,
  y: number,
  reference: number,
  scale: number,
): boolean {
  if (Number.isNaN(reference)) return Number.isNaN(y);
  if (y === reference) return true;
  if (!Number.isFinite(reference)) return false;
  const bound = c * epsilon * scale + floor;
  if (Number.isFinite(y)) return Math.abs(y - reference) <= bound;
  // Rounding up from half an ulp beyond the largest number is an infinity.
  return Math.sign(y) === Math.sign(reference) && Math.abs(reference) + bound >= largest * (1 + epsilon / 4);
}
