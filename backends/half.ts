/** IEEE binary16 and bfloat16 as bits in a `Uint16Array`: rounding to nearest even, subnormals, infinities and NaN kept. */

import { UhopError } from './contract.ts';

export type HalfType = 'f16' | 'bf16';

/** Bits of the stored fraction, and the exponent bias. */
const FORMATS: Readonly<Record<HalfType, { readonly fraction: number; readonly bias: number }>> = {
  f16: { fraction: 10, bias: 15 },
  bf16: { fraction: 7, bias: 127 },
};

const scratch = new Float64Array(1);
const words = new Uint32Array(scratch.buffer);
const HIGH_WORD = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;

/** Adding and subtracting 2^52 rounds a smaller non-negative f64 to an integer, ties to even. */
const ROUNDER = 2 ** 52;

/** The bits nearest to `value`, rounded once from f64. */
export function toBits(value: number, type: HalfType): number {
  const { fraction, bias } = FORMATS[type];
  const infinity = (2 * bias + 1) << fraction;
  if (Number.isNaN(value)) return infinity | (1 << (fraction - 1));
  scratch[0] = value;
  const high = words[HIGH_WORD] as number;
  const sign = (high >>> 31) << 15;
  const exponent = Math.max(((high >>> 20) & 0x7ff) - 1023, 1 - bias);
  if (exponent > bias) return sign | infinity;
  const quanta = Math.abs(value) * 2 ** (fraction - exponent) + ROUNDER - ROUNDER;
  return sign | (((exponent + bias - 1) << fraction) + quanta);
}

/** The value that `bits` stand for, exact. */
export function fromBits(bits: number, type: HalfType): number {
  const { fraction, bias } = FORMATS[type];
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits & 0x7fff) >>> fraction;
  const digits = bits & ((1 << fraction) - 1);
  if (exponent === 2 * bias + 1) return digits === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * digits * 2 ** (1 - bias - fraction);
  return sign * (digits + (1 << fraction)) * 2 ** (exponent - bias - fraction);
}

function checkType(type: unknown): void {
  if (type === 'f16' || type === 'bf16') return;
  throw new UhopError('E_DTYPE', `half precision is 'f16' or 'bf16', got ${String(type)}`);
}

/**
 * Numbers to f16 or bf16 bits, each rounded to nearest even; what is too large becomes an infinity.
 *
 * @throws UhopError `E_DTYPE` for another type.
 */
export function encodeHalf(values: ArrayLike<number>, type: HalfType): Uint16Array {
  checkType(type);
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) bits[i] = toBits(values[i]!, type);
  return bits;
}

/**
 * f16 or bf16 bits to numbers, exact.
 *
 * @throws UhopError `E_DTYPE` for another type.
 */
export function decodeHalf(bits: Uint16Array, type: HalfType): Float32Array {
  checkType(type);
  const values = new Float32Array(bits.length);
  for (let i = 0; i < values.length; i++) values[i] = fromBits(bits[i]!, type);
  return values;
}
