import { describe, expect, it } from 'vitest';
import { addon, matmulCall, shapeNumbers } from '../support/native.ts';
import { elements } from '../support/tensors.ts';

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
      const operand = elements(new Float64Array(200 * 200).fill(dtype === 'f16' ? 2 ** -14 : 2 ** -120), dtype);
      const out = elements(new Float64Array(40_000), dtype);
      runSync(index, 3, shapeNumbers(matmulCall(200, 200, 200)), operand, operand, undefined, out);
      expect(arithmetic(tiny, one)).toEqual(before);
    }
  });
});
