import { decodeHalf, encodeHalf, type HalfType } from 'uhop';
import { describe, expect, it } from 'vitest';
import { guarded } from '../support/guarded.ts';
import { addon } from '../support/native.ts';
import { generator } from '../support/random.ts';

const { variants, runSync } = addon();
const CONVERT = 3;
const every = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);

function convert(index: number, x: Uint16Array | Float32Array, y: Uint16Array | Float32Array, threads = 1): void {
  runSync(index, threads, Float64Array.of(CONVERT, x.length), x, undefined, undefined, y);
}

const kernels = (op: 'widen' | 'narrow') =>
  variants.flatMap((variant, index) =>
    variant.op === op && variant.runsHere ? [{ ...variant, dtype: variant.dtype as HalfType, index }] : [],
  );

/** Everything that can go wrong in rounding, as f32: each value, each tie, and what lies just beside the ties. */
function hardToRound(type: HalfType): Float32Array {
  const ladder = decodeHalf(every.subarray(0, 0x8000), type).filter(Number.isFinite);
  const beyond = ladder.at(-1)! * 2 - ladder.at(-2)!;
  const ties = Float32Array.from(ladder, (low, at) => (low + (ladder[at + 1] ?? beyond)) / 2);
  const words = new Uint32Array(ties.buffer);
  const beside = [words.map((word) => word - 1), words.map((word) => word + 1)];
  const positive = [ladder, ties, ...beside.map(({ buffer }) => new Float32Array(buffer))];
  return Float32Array.from([...positive, ...positive.map((numbers) => numbers.map((x) => -x))].flatMap((x) => [...x]));
}

/** f32 of every sign, exponent and kind. */
function anyFloats(count: number): Float32Array {
  const next = generator(17);
  const special = [0, -0, Infinity, -Infinity, NaN, 3.4028234663852886e38, 2 ** -149, -(2 ** -126), 65519.996, 65520];
  const words = Uint32Array.from({ length: count }, () => next() * 2 ** 32);
  return Float32Array.from([...special, ...new Float32Array(words.buffer)]);
}

/** The first difference; one NaN is as good as another. */
function firstWrong(got: ArrayLike<number>, expected: ArrayLike<number>, isNaN: (y: number) => boolean): string {
  for (let at = 0; at < expected.length; at++) {
    const [y, right] = [got[at]!, expected[at]!];
    if (!Object.is(y, right) && !(isNaN(y) && isNaN(right))) return `element ${at} is ${y}, expected ${right}`;
  }
  return '';
}

const nanBits =
  (type: HalfType) =>
  (bits: number): boolean =>
    (bits & 0x7fff) > (type === 'f16' ? 0x7c00 : 0x7f80);

describe.each(kernels('widen'))('$name', ({ index, dtype }) => {
  it('is exact for all 65536 bit patterns, in one piece or several', () => {
    const x = Uint16Array.from({ length: 5 * every.length }, (_, at) => at);
    const expected = decodeHalf(x, dtype);
    for (const threads of [1, 3]) {
      const y = new Float32Array(x.length).fill(7);
      convert(index, x, y, threads);
      expect(firstWrong(y, expected, Number.isNaN)).toBe('');
    }
  });

  it('leaves the tail alone at every length and offset', () => {
    for (let length = 0; length < 70; length++) {
      const y = guarded('f32', length, length % 16);
      const x = guarded(dtype, length, (length * 5) % 16);
      x.data.set(every.subarray(0x3c00, 0x3c00 + length));
      convert(index, x.data as Uint16Array, y.data);
      expect(firstWrong(y.data, decodeHalf(x.data as Uint16Array, dtype), Number.isNaN)).toBe('');
      expect(y.intact()).toBe(true);
    }
  });

  it('widens where it lies: out of the second half of its result', () => {
    for (const length of [1, 2, 15, 16, 17, 31, 33, 500, 4096, 4099]) {
      const y = new Float32Array(length);
      const x = new Uint16Array(y.buffer, 2 * length, length);
      x.set(every.subarray(0x3c00, 0x3c00 + length));
      const expected = decodeHalf(x, dtype);
      convert(index, x, y);
      expect(firstWrong(y, expected, Number.isNaN), `${length}`).toBe('');
    }
  });
});

describe.each(kernels('narrow'))('$name', ({ index, dtype }) => {
  it.each([
    ['every value, every tie and its neighbours', hardToRound(dtype)],
    ['a sample of all f32', anyFloats(200_000)],
  ])('rounds to nearest even: %s', (_, x) => {
    const y = new Uint16Array(x.length).fill(1);
    convert(index, x, y, 2);
    expect(firstWrong(y, encodeHalf(x, dtype), nanBits(dtype))).toBe('');
  });

  it('leaves the tail alone at every length and offset', () => {
    const numbers = hardToRound(dtype).subarray(1000, 1070);
    for (let length = 0; length < 70; length++) {
      const x = guarded('f32', length, (length * 5) % 16);
      const y = guarded(dtype, length, length % 16);
      x.data.set(numbers.subarray(0, length));
      convert(index, x.data, y.data as Uint16Array);
      expect(firstWrong(y.data, encodeHalf(x.data, dtype), nanBits(dtype))).toBe('');
      expect(y.intact()).toBe(true);
    }
  });
});

it('every instruction set converts both 16-bit types both ways', () => {
  const isas = [...new Set(variants.map(({ isa }) => isa))];
  const names = isas.flatMap((isa) =>
    ['f16', 'bf16'].flatMap((type) => [`${type}_widen__${isa}`, `${type}_narrow__${isa}`]),
  );
  const listed = variants.filter(({ op }) => op === 'widen' || op === 'narrow').map(({ name }) => name);
  expect(listed.toSorted()).toEqual(names.toSorted());
});

describe('the checker', () => {
  const x = hardToRound('f16');
  const right = encodeHalf(x, 'f16');

  it.each([
    ['rounds ties away', (value: number) => decodeHalf(encodeHalf([value * (1 + 2 ** -30)], 'f16'), 'f16')[0]!],
    ['truncates', (value: number) => Math.trunc(value * 2 ** 24) / 2 ** 24],
    ['flushes subnormals', (value: number) => (Math.abs(value) < 2 ** -14 ? 0 : value)],
    ['saturates', (value: number) => Math.min(value, 65504)],
    ['loses NaN', (value: number) => (Number.isNaN(value) ? 0 : value)],
  ])('refuses a kernel that %s', (_, broken) => {
    const numbers = Float64Array.from([...x, NaN], broken);
    const expected = Uint16Array.from([...right, 0x7e00]);
    expect(firstWrong(encodeHalf(numbers, 'f16'), expected, nanBits('f16'))).not.toBe('');
  });
});
