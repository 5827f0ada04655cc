import { describe, expect, it } from 'vitest';
import { guarded } from '../support/guarded.ts';
import { addon, type Floats, floats, reluCall, shapeNumbers } from '../support/native.ts';
import { values } from '../support/random.ts';

const { variants, runSync } = addon();
const here = variants
  .map((variant, index) => ({ ...variant, index }))
  .filter(({ op, runsHere }) => op === 'relu' && runsHere);
const inf = Number.POSITIVE_INFINITY;

/** By the definition: x > 0 ? x : (x is NaN ? NaN : 0). */
const relu = (x: number): number => (x > 0 || Number.isNaN(x) ? x : 0);

describe.each(here.filter(({ dtype }) => dtype === 'f32' || dtype === 'f64'))('$name', ({ index, dtype }) => {
  it('is exact for every length and element offset, and touches nothing around', () => {
    for (let length = 0; length <= 67; length++) {
      const x = guarded(dtype, length, length % 16);
      const y = guarded(dtype, length, (length * 5) % 16);
      x.data.set(values(length, length));
      runSync(index, 1, shapeNumbers(reluCall(length, dtype)), x.data, undefined, undefined, y.data);
      expect(Array.from(y.data)).toEqual(Array.from(x.data, relu));
      expect(x.intact() && y.intact()).toBe(true);
    }
  });

  it('keeps NaN in every lane, makes -0 and -Infinity 0, works in place', () => {
    for (let lane = 0; lane < 35; lane++) {
      const x = floats(dtype, 35).fill(-0);
      x[lane] = Number.NaN;
      x[(lane + 1) % 35] = inf;
      x[(lane + 2) % 35] = -inf;
      const expected = Array.from(x, relu);
      runSync(index, 1, shapeNumbers(reluCall(35, dtype)), x, undefined, undefined, x);
      expect(Array.from(x).map((y) => (Object.is(y, -0) ? 'minus zero' : y))).toEqual(expected);
    }
  });

  it('is the same over pieces and threads', () => {
    const x: Floats = floats(dtype, 300_001);
    x.set(values(x.length, 21));
    const y = floats(dtype, x.length).fill(Number.NaN);
    runSync(index, 3, shapeNumbers(reluCall(x.length, dtype)), x, undefined, undefined, y);
    expect(y.findIndex((value, at) => value !== relu(x[at]!))).toBe(-1);
  });

  it('is the same for results too large for the caches, wherever they begin', () => {
    const length = (20 << 20) / (dtype === 'f64' ? 8 : 4) + 5;
    const x: Floats = floats(dtype, length);
    const some = values(4099, 22);
    for (let at = 0; at < length; at++) x[at] = some[at % 4099]!;
    x[length - 3] = Number.NaN;
    for (const offset of [0, 1, 3]) {
      const y = guarded(dtype, length, offset);
      runSync(index, 2, shapeNumbers(reluCall(length, dtype)), x, undefined, undefined, y.data);
      expect(y.data.findIndex((value, at) => !Object.is(value, relu(x[at]!)))).toBe(-1);
      expect(y.intact()).toBe(true);
    }
  });
});

describe.each(here.filter(({ dtype }) => dtype === 'f16' || dtype === 'bf16'))('$name', ({ index, dtype }) => {
  it('is right for all 65536 bit patterns', () => {
    const infinity = dtype === 'f16' ? 0x7c00 : 0x7f80;
    const x = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);
    const y = new Uint16Array(x.length).fill(1);
    runSync(index, 2, shapeNumbers(reluCall(x.length, dtype)), x, undefined, undefined, y);
    const expected = (bits: number): number => (bits < 0x8000 || (bits & 0x7fff) > infinity ? bits : 0);
    expect(y.findIndex((bits, at) => bits !== expected(at))).toBe(-1);
  });

  it('is right for a result too large for the caches', () => {
    const x = Uint16Array.from({ length: (9 << 20) + 7 }, (_, at) => at * 7);
    const y = guarded(dtype, x.length, 1);
    runSync(index, 2, shapeNumbers(reluCall(x.length, dtype)), x, undefined, undefined, y.data);
    const infinity = dtype === 'f16' ? 0x7c00 : 0x7f80;
    const expected = (bits: number): number => (bits < 0x8000 || (bits & 0x7fff) > infinity ? bits : 0);
    expect(y.data.findIndex((bits, at) => bits !== expected(x[at]!))).toBe(-1);
    expect(y.intact()).toBe(true);
  });

  it('leaves the tail alone', () => {
    for (let length = 0; length < 70; length++) {
      const y = guarded(dtype, length, length % 16);
      const x = new Uint16Array(length).fill(0xbc00);
      runSync(index, 1, shapeNumbers(reluCall(length, dtype)), x, undefined, undefined, y.data);
      expect(y.data.every((bits) => bits === 0) && y.intact()).toBe(true);
    }
  });
});
