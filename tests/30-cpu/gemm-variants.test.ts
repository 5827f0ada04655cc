import { describe, expect, it } from 'vitest';
import type { DType, MatmulCall } from '../../backends/contract.ts';
import { guarded } from '../support/guarded.ts';
import { addon, type Floats, floats, matmulCall, shapeNumbers } from '../support/native.ts';
import { firstWrong, product } from '../support/products.ts';
import { integers, values } from '../support/random.ts';

const { variants, runSync } = addon();
const gemms = variants.map((variant, index) => ({ ...variant, index })).filter(({ op }) => op === 'gemm');
const here = gemms.filter(({ runsHere }) => runsHere);

function multiply(index: number, call: MatmulCall, a: Floats, b: Floats, out: Floats, bias?: Floats): Floats {
  runSync(index, 2, shapeNumbers(call), a, b, bias, out);
  return out;
}

const filledWith = (dtype: DType, numbers: ArrayLike<number>): Floats => {
  const data = floats(dtype, numbers.length);
  data.set(numbers);
  return data;
};

describe('the list of variants', () => {
  it('has f32 and f64 gemm for every instruction set of the build, and some of them run here', () => {
    const isas = new Set(variants.map(({ isa }) => isa));
    for (const isa of isas) {
      const dtypes = gemms.filter((one) => one.isa === isa).map(({ dtype }) => dtype);
      expect(dtypes, isa).toEqual(['f32', 'f64']);
    }
    expect(here.length).toBeGreaterThan(0);
  });

  it('names each variant after what it is', () => {
    for (const { name, dtype, op, isa, MR, NR } of gemms) expect(name).toBe(`${dtype}_${op}__${isa}_${MR}x${NR}`);
  });
});

describe.each(here)('$name', ({ index, dtype: kind, MR, NR, KC }) => {
  const dtype = kind as 'f32' | 'f64';

  it('is exact on integers for every m, n, k in 1..17, whatever `out` held', () => {
    const [a, b] = [integers(17 * 17, 1), integers(17 * 17, 2)];
    const wrong: string[] = [];
    for (let M = 1; M <= 17; M++) {
      for (let N = 1; N <= 17; N++) {
        for (let K = 1; K <= 17; K++) {
          const [transposeA, transposeB] = [(M + K) % 2 === 0, (N + K) % 3 === 0];
          const call = matmulCall(M, N, K, { dtype, transposeA, transposeB });
          const left = filledWith(dtype, a.subarray(0, M * K));
          const right = filledWith(dtype, b.subarray(0, K * N));
          const out = guarded(dtype, M * N, (M + N) % 16);
          const got = multiply(index, call, left, right, out.data as Floats);
          const { value } = product(call, left, right);
          if (!got.every((y, at) => y === value[at]) || !out.intact()) wrong.push(`${M}x${N}x${K}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  const around = (unit: number): number[] => [unit - 1, unit, unit + 1, 2 * unit + 1];
  const edges = around(MR!).flatMap((M) => around(NR!).map((N): [number, number] => [M, N]));

  it.each(edges)('is within tolerance at the edges of its tile, %i x %i', (M, N) => {
    for (const K of [KC! - 1, KC!, KC! + 1, 2 * KC! + 3]) {
      for (const more of [
        {},
        { bias: 'row', activation: 'relu' },
        { bias: 'scalar' },
        { activation: 'relu' },
      ] as const) {
        const call = matmulCall(M, N, K, { dtype, transposeA: K % 2 === 0, transposeB: M % 2 === 0, ...more });
        const [a, b] = [filledWith(dtype, values(M * K, 3)), filledWith(dtype, values(K * N, 4))];
        const bias = 'bias' in more ? filledWith(dtype, values(more.bias === 'row' ? N : 1, 5)) : undefined;
        const got = multiply(index, call, a, b, floats(dtype, M * N).fill(Number.NaN), bias);
        expect(firstWrong(call, got, product(call, a, b, bias)), JSON.stringify(call)).toBe('');
      }
    }
  });

  it('reads nothing around its operands and writes nothing around its result, at any element offset', () => {
    for (let offset = 0; offset < 16; offset++) {
      const [M, N, K] = [MR! + 3, NR! + 5, 21];
      const call = matmulCall(M, N, K, {
        dtype,
        bias: 'row',
        transposeA: offset % 2 === 0,
        transposeB: offset % 4 < 2,
      });
      const a = guarded(dtype, M * K, offset);
      const b = guarded(dtype, K * N, offset);
      const bias = guarded(dtype, N, offset);
      const out = guarded(dtype, M * N, offset);
      a.data.set(integers(M * K, 6));
      b.data.set(integers(K * N, 7));
      bias.data.set(integers(N, 8));
      const [x, w, added, y] = [a, b, bias, out].map(({ data }) => data as Floats) as [Floats, Floats, Floats, Floats];
      multiply(index, call, x, w, y, added);
      expect(Array.from(y)).toEqual(Array.from(product(call, x, w, added).value));
      expect([a, b, bias, out].every((one) => one.intact())).toBe(true);
    }
  });

  it('gives zeros, then bias and activation, for K = 0', () => {
    const none = floats(dtype, 0);
    const call = matmulCall(3, 2, 0, { dtype });
    expect([...multiply(index, call, none, none, floats(dtype, 6).fill(7))]).toEqual([0, 0, 0, 0, 0, 0]);
    const biased = matmulCall(2, 2, 0, { dtype, bias: 'row', activation: 'relu' });
    const out = floats(dtype, 4).fill(7);
    expect([...multiply(index, biased, none, none, out, filledWith(dtype, [-1, 3]))]).toEqual([0, 3, 0, 3]);
  });

  it('never skips a zero, and a NaN of one call does not reach the next', () => {
    const inf = Number.POSITIVE_INFINITY;
    const zero = matmulCall(1, 1, 2, { dtype });
    expect(
      multiply(index, zero, filledWith(dtype, [0, 1]), filledWith(dtype, [inf, 1]), floats(dtype, 1))[0],
    ).toBeNaN();
    const call = matmulCall(5, 3, 7, { dtype });
    const [a, b] = [filledWith(dtype, integers(35, 9)), filledWith(dtype, integers(21, 10))];
    multiply(
      index,
      call,
      a.map(() => Number.NaN),
      b.map(() => Number.NaN),
      floats(dtype, 15),
    );
    expect([...multiply(index, call, a, b, floats(dtype, 15))]).toEqual([...product(call, a, b).value]);
  });

  it('propagates NaN and infinities, and keeps NaN through relu', () => {
    const inf = Number.POSITIVE_INFINITY;
    for (const activation of ['none', 'relu'] as const) {
      const call = matmulCall(3, NR! + 1, 2, { dtype, activation });
      const a = filledWith(dtype, [1, Number.NaN, inf, 1, -inf, 1]);
      const b = filledWith(dtype, values(2 * (NR! + 1), 11));
      const got = multiply(index, call, a, b, floats(dtype, 3 * (NR! + 1)));
      expect(firstWrong(call, got, product(call, a, b))).toBe('');
    }
  });

  it('keeps subnormals and is exact up to 2^24', () => {
    const tiny = dtype === 'f32' ? 2 ** -149 : 2 ** -1074;
    const call = matmulCall(1, 2, 3, { dtype });
    const got = multiply(
      index,
      call,
      filledWith(dtype, [1, 2, 2 ** 12]),
      filledWith(dtype, [tiny, 1, tiny, 0, 0, 2 ** 12 - 1]),
      floats(dtype, 2),
    );
    expect([...got]).toEqual([tiny + 2 * tiny, 2 ** 24 - 2 ** 12 + 1]);
  });
});

describe('the checker', () => {
  const call = matmulCall(5, 7, 9);
  const [a, b] = [filledWith('f32', values(45, 12)), filledWith('f32', values(63, 13))];
  const reference = product(call, a, b);
  const right = Float32Array.from(reference.value);

  it('accepts the right product', () => expect(firstWrong(call, right, reference)).toBe(''));

  it.each([
    [
      'drops the last k',
      product(
        { ...call, K: 8 },
        a.filter((_, at) => at % 9 !== 8),
        b.subarray(0, 56),
      ).value,
    ],
    ['leaves a row unwritten', right.map((y, at) => (at >= 28 ? Number.NaN : y))],
    ['is off by a hundred ulps', right.map((y, at) => (at === 17 ? y * (1 + 100 * 2 ** -23) : y))],
    ['swaps two elements', right.with(3, right[4]!).with(4, right[3]!)],
  ])('refuses a kernel that %s', (_, wrong) => {
    expect(firstWrong(call, Float32Array.from(wrong), reference)).not.toBe('');
  });
});
