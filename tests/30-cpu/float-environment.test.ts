import { describe, expect, it } from 'vitest';
import { addon, floats, matmulCall, shapeNumbers } from '../support/native.ts';

/** What rounding to nearest with subnormals gives; numbers come as arguments so that nothing is folded beforehand. */
function arithmetic(tiny: number, one: number): readonly number[] {
  return [tiny / 2 + tiny / 2, (one + 2 ** -53) / one, (tiny * 3) / 4, one / 3, -one / 3, Math.fround(one * 2 ** -149)];
}

describe('the floating-point environment of the process', () => {
  it('is as if the addon were not loaded, before and after every kernel on several threads', () => {
    const [tiny, one] = [Number('2.2250738585072014e-308'), Number('1')];
    const before = arithmetic(tiny, one);
    expect(before).toEqual([2 ** -1022, 1, 1.668805393880401e-308, 1 / 3, -1 / 3, 2 ** -149]);
    const { variants, runSync } = addon();
    for (const [index, { op, dtype, runsHere }] of variants.entries()) {
      if (op !== 'gemm' || !runsHere) continue;
      const kind = dtype === 'f64' ? 'f64' : 'f32';
      const operand = floats(kind, 200 * 200).fill(2 ** -120);
      runSync(index, 3, shapeNumbers(matmulCall(200, 200, 200)), operand, operand, undefined, floats(kind, 40_000));
      expect(arithmetic(tiny, one)).toEqual(before);
    }
  });
});
