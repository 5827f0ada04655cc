import { describe, expect, it } from 'vitest';
import type { DType, MatmulCall, TensorData } from '../../backends/contract.ts';
import { guarded } from '../support/guarded.ts';
import { addon, type Floats, floats, matmulCall, shapeNumbers } from '../support/native.ts';
import { firstWrong, product } from '../support/products.ts';
import { integers, values } from '../support/random.ts';
import { elements, floatsOf } from '../support/tensors.ts';

const { variants, runSync } = addon();
const gemms = variants.map((variant, index) => ({ ...variant, index })).filter(({ op }) => op === 'gemm');
const here = gemms.filter(({ runsHere }) => runsHere);

/** The product of numbers, stored and computed as the call's element type. `out` holds NaN before where none is given. */
function multiply(index: number, call: MatmulCall, a: Floats, b: Floats, bias?: Floats, out?: TensorData): Floats {
  const { dtype, M, N } = call;
  const stored = (numbers: Floats): TensorData => elements(numbers, dtype);
  const result = out ?? stored(floats(dtype, M * N).fill(Number.NaN));
  runSync(index, 2, shapeNumbers(call), stored(a), stored(b), bias && stored(bias), result);
  return floatsOf(result, dtype);
}

/** Numbers as that element type holds them. */
const filledWith = (dtype: DType, numbers: ArrayLike<number>): Floats => floatsOf(elements(numbers, dtype), dtype);

/** The first so many of `length` random elements, as they are stored and as the numbers that they hold. */
function pool(dtype: DType, length: number, seed: number): (count: number) => { data: TensorData; numbers: Floats } {
  const data = elements(values(length, seed), dtype);
  const numbers = floatsOf(data, dtype);
  return (count) => ({ data: data.subarray(0, count), numbers: numbers.subarray(0, count) });
}

describe('the list of variants', () => {
  it('has a gemm of each element type for every instruction set of the build, and some of them run here', () => {
    const isas = new Set(variants.map(({ isa }) => isa));
    for (const isa of isas) {
      const dtypes = gemms.filter((one) => one.isa === isa).map(({ dtype }) => dtype);
      expect(dtypes, isa).toEqual(['f32', 'f64', 'f16', 'bf16']);
    }
    expect(here.length).toBeGreaterThan(0);
  });

  it('names each variant after what it is', () => {
    for (const { name, dtype, op, isa, MR, NR } of gemms) expect(name).toBe(`${dtype}_${op}__${isa}_${MR}x${NR}`);
  });
});

describe.each(here)('$name', ({ index, dtype, MR, NR, KC }) => {
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
          const got = multiply(index, call, left, right, undefined, out.data);
          const value = filledWith(dtype, product(call, left, right).value);
          if (!got.every((y, at) => y === value[at]) || !out.intact()) wrong.push(`${M}x${N}x${K}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  const around = (unit: number): number[] => [unit - 1, unit, unit + 1, 2 * unit + 1];
  const edges = around(MR!).flatMap((M) => around(NR!).map((N): [number, number] => [M, N]));

  const deepest = 2 * KC! + 3;
  const [lefts, rights] = [pool(dtype, deepest * edges.at(-1)![0], 3), pool(dtype, deepest * edges.at(-1)![1], 4)];
  const added = pool(dtype, edges.at(-1)![1], 5);

  it.each(edges)('is within tolerance at the edges of its tile, %i x %i', (M, N) => {
    for (const K of [KC! - 1, KC!, KC! + 1, deepest]) {
      for (const more of [
        {},
        { bias: 'row', activation: 'relu' },
        { bias: 'scalar' },
        { activation: 'relu' },
      ] as const) {
        const call = matmulCall(M, N, K, { dtype, transposeA: K % 2 === 0, transposeB: M % 2 === 0, ...more });
        const [a, b] = [lefts(M * K), rights(K * N)];
        const bias = 'bias' in more ? added(more.bias === 'row' ? N : 1) : undefined;
        const out = elements(floats(dtype, M * N).fill(Number.NaN), dtype);
        runSync(index, 2, shapeNumbers(call), a.data, b.data, bias?.data, out);
        const reference = product(call, a.numbers, b.numbers, bias?.numbers);
        expect(firstWrong(call, floatsOf(out, dtype), reference), JSON.stringify(call)).toBe('');
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
      const numbers = [integers(M * K, 6), integers(K * N, 7), integers(N, 8)] as const;
      [a, b, bias].forEach(({ data }, at) => data.set(elements(numbers[at]!, dtype)));
      runSync(index, 2, shapeNumbers(call), a.data, b.data, bias.data, out.data);
      expect(out.data).toEqual(elements(product(call, ...numbers).value, dtype));
      expect([a, b, bias, out].every((one) => one.intact())).toBe(true);
    }
  });

  it('gives zeros, then bias and activation, for K = 0', () => {
    const none = floats(dtype, 0);
    const call = matmulCall(3, 2, 0, { dtype });
    expect([...multiply(index, call, none, none)]).toEqual([0, 0, 0, 0, 0, 0]);
    const biased = matmulCall(2, 2, 0, { dtype, bias: 'row', activation: 'relu' });
    expect([...multiply(index, biased, none, none, filledWith(dtype, [-1, 3]))]).toEqual([0, 3, 0, 3]);
  });

  it('never skips a zero, and a NaN of one call does not reach the next', () => {
    const inf = Number.POSITIVE_INFINITY;
    const zero = matmulCall(1, 1, 2, { dtype });
    expect(multiply(index, zero, filledWith(dtype, [0, 1]), filledWith(dtype, [inf, 1]))[0]).toBeNaN();
    const call = matmulCall(5, 3, 7, { dtype });
    const [a, b] = [filledWith(dtype, integers(35, 9)), filledWith(dtype, integers(21, 10))];
    multiply(
      index,
      call,
      a.map(() => Number.NaN),
      b.map(() => Number.NaN),
    );
    expect([...multiply(index, call, a, b)]).toEqual([...filledWith(dtype, product(call, a, b).value)]);
  });

  it('propagates NaN and infinities, and keeps NaN through relu', () => {
    const inf = Number.POSITIVE_INFINITY;
    for (const activation of ['none', 'relu'] as const) {
      const call = matmulCall(3, NR! + 1, 2, { dtype, activation });
      const a = filledWith(dtype, [1, Number.NaN, inf, 1, -inf, 1]);
      const b = filledWith(dtype, values(2 * (NR! + 1), 11));
      expect(firstWrong(call, multiply(index, call, a, b), product(call, a, b))).toBe('');
    }
  });

  it('keeps subnormals and is exact up to 2^24', () => {
    const tiny = { f32: 2 ** -149, f64: 2 ** -1074, f16: 2 ** -24, bf16: 2 ** -133 }[dtype];
    const call = matmulCall(1, 2, 3, { dtype });
    const a = filledWith(dtype, [1, 2, 2 ** 12]);
    const b = filledWith(dtype, [tiny, 1, tiny, 0, 0, 2 ** 12 - 1]);
    const exact = [tiny + 2 * tiny, 1 + 2 ** 12 * b[5]!];
    expect([...multiply(index, call, a, b)]).toEqual([...filledWith(dtype, exact)]);
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
