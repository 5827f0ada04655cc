import { describe, expect, it } from 'vitest';
import type { DType } from '../../backends/contract.ts';
import { addon, matmulCall, shapeNumbers } from '../support/native.ts';
import { values } from '../support/random.ts';
import { elements, floatsOf } from '../support/tensors.ts';

// How a product is cut, packed and shared out depends on its shape, on where its operands lie and on the threads. None of
// it may show: the sums of every plan are the same operations in the same order.

const { variants, runSync } = addon();
const gemms = variants
  .map((variant, index) => ({ ...variant, index }))
  .filter(({ op, runsHere }) => op === 'gemm' && runsHere);

/** M, N, K. */
const SHAPES = [
  ['small enough to be read where it lies', 40, 52, 70],
  ['one row', 1, 2000, 700],
  ['a few rows that B passes by once', 7, 1111, 601],
  ['as many rows as may be called few', 8, 1100, 530],
  ['one row more than that', 9, 1100, 530],
  ['one column', 900, 1, 1100],
  ['a few columns', 500, 7, 1100],
  ['three vectors and a bit of columns', 300, 50, 900],
  ['a last panel of four vectors', 131, 109, 900],
  ['one panel of four vectors', 25, 64, 90],
  ['a small result and a long way', 9, 11, 9000],
  ['two elements of long sums', 1, 2, 20_001],
  ['several tiles and k blocks', 171, 733, 1100],
  ['more columns than fit one outer block', 3, 8300, 530],
  ['tall and thin', 2000, 20, 40],
] as const;

function transposed(matrix: Float64Array, rows: number, cols: number): Float64Array {
  return matrix.map((_, at) => matrix[(at % rows) * cols + Math.floor(at / rows)]!);
}

describe.each(gemms)('$name', ({ index, dtype }) => {
  const bits = (data: ArrayBufferView): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const nans = (length: number): Float64Array => new Float64Array(length).fill(Number.NaN);

  it.each(SHAPES)('gives the same bits however it is cut: %s, %i x %i x %i', (_name, M, N, K) => {
    const [a, b] = [values(M * K, 1), values(K * N, 2)];
    const stored = (numbers: Float64Array) => elements(numbers, dtype as DType);
    const forms = {
      a: [stored(a), stored(transposed(a, M, K))],
      b: [stored(b), stored(transposed(b, K, N))],
    };
    const bias = stored(values(N, 3));
    const results = [];
    for (const transposeA of [false, true]) {
      for (const transposeB of [false, true]) {
        for (const threads of [1, 3]) {
          const call = matmulCall(M, N, K, { dtype, transposeA, transposeB, bias: 'row', activation: 'relu' });
          const out = stored(nans(M * N));
          runSync(index, threads, shapeNumbers(call), forms.a[+transposeA]!, forms.b[+transposeB]!, bias, out);
          results.push({ transposeA, transposeB, threads, out });
        }
      }
    }
    const [first, ...others] = results;
    for (const { out, ...how } of others) expect(bits(out).equals(bits(first!.out)), JSON.stringify(how)).toBe(true);
    expect(Array.from(floatsOf(first!.out, dtype as DType)).some((y) => !(y >= 0))).toBe(false);
  });
});
