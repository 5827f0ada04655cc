import { decodeHalf, encodeHalf } from 'uhop';
import { describe, expect, it } from 'vitest';
import type { Call } from '../../backends/contract.ts';
import { addon, conv2dCall, matmulCall, shapeNumbers } from '../support/native.ts';
import { integers } from '../support/random.ts';

const { variants, runSync } = addon();
const here = variants.flatMap(({ name, op, dtype, runsHere, KC }, index) =>
  op === 'gemm' && runsHere && (dtype === 'f16' || dtype === 'bf16') ? [{ name, dtype, KC: KC!, index }] : [],
);

/** Sums that are kept in f32 at once; a larger result is computed strip by strip. */
const SUMS = 2 ** 23;

describe.each(here)('$name', ({ index, dtype, KC }) => {
  function run(call: Call, inputs: readonly Uint16Array[], length: number, bias?: Uint16Array): Uint16Array {
    const out = new Uint16Array(length).fill(0x7fff);
    runSync(index, 2, shapeNumbers(call), inputs[0]!, inputs[1], bias, out);
    return out;
  }
  const bits = (numbers: ArrayLike<number>): Uint16Array => encodeHalf(numbers, dtype);

  it('rounds once: blocks of k, bias and relu meet in f32', () => {
    // Each one alone is lost where `coarse` is rounded, and two of them are not.
    const coarse = { f16: 2048, bf16: 256 }[dtype];
    const K = 3 * KC;
    const a = new Float32Array(K);
    [a[0], a[1], a[KC]] = [coarse, 1, 1];
    const inputs = [bits(a), bits(new Float32Array(K).fill(1))];
    expect([...decodeHalf(run(matmulCall(1, 1, K, { dtype }), inputs, 1), dtype)]).toEqual([coarse + 2]);
    a[KC] = 0;
    const call = matmulCall(1, 1, K, { dtype, bias: 'scalar', activation: 'relu' });
    expect([...decodeHalf(run(call, [bits(a), inputs[1]!], 1, bits([1])), dtype)]).toEqual([coarse + 2]);
  });

  it('a sum beyond the largest number is infinite, one that comes back is not', () => {
    const largest = decodeHalf(Uint16Array.of(dtype === 'f16' ? 0x7bff : 0x7f7f), dtype)[0]!;
    const half = { f16: 2 ** 4, bf16: 2 ** 119 }[dtype];
    const ones = bits([1, 1, 1]);
    const sum = (numbers: number[]): number =>
      decodeHalf(run(matmulCall(1, 1, 3, { dtype }), [bits(numbers), ones], 1), dtype)[0]!;
    expect([sum([largest, half, 0]), sum([-largest, -half, 0])]).toEqual([Infinity, -Infinity]);
    expect(sum([largest, half, -half])).toBe(largest);
  });

  it('computes a tall result strip by strip', () => {
    const M = SUMS + 1001;
    const a = Uint16Array.from({ length: M }, (_, at) => (at * 7) % 0x7c00);
    const out = run(matmulCall(M, 1, 1, { dtype, transposeA: true }), [a, bits([1])], M);
    expect(out.findIndex((y, at) => y !== a[at])).toBe(-1);
  });

  it('gives every strip of a convolution its own rows and biases', () => {
    const [O, H, W] = [130, 256, 257];
    const call = conv2dCall({ C: 1, H, W, O, KH: 1, KW: 1 }, { dtype, bias: true });
    const [x, w, bias] = [integers(H * W, 1), integers(O, 2), integers(O, 3)];
    const out = run(call, [bits(x), bits(w)], O * H * W, bits(bias));
    const table = new Map(Array.from({ length: 181 }, (_, at) => [at - 90, bits([at - 90])[0]!]));
    const expected = (at: number): number =>
      table.get(w[Math.floor(at / H / W)]! * x[at % (H * W)]! + bias[Math.floor(at / H / W)]!)!;
    expect(O * H * W).toBeGreaterThan(SUMS);
    expect(out.findIndex((y, at) => y !== expected(at))).toBe(-1);
  });
});
