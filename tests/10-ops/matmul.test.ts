import { describe, expect, it } from 'vitest';
import { callSync, onEveryPath, pathsOf } from '../support/paths.ts';
import { integers } from '../support/random.ts';
import { expectWithin, matmulExpected } from '../support/reference.ts';
import { counting, elements, filled, made, numbersOf, sizeOf } from '../support/tensors.ts';

const DTYPES = ['f32', 'f64', 'f16', 'bf16'] as const;

describe('matmul with a zero size', () => {
  it.each([
    [
      [16, 0],
      [0, 16],
      [16, 16],
    ],
    [
      [3, 2, 0],
      [3, 0, 3],
      [3, 2, 3],
    ],
    [
      [1, 0],
      [0, 1],
      [1, 1],
    ],
    [[0], [0], []],
    [[2, 0], [0], [2]],
    [[0], [0, 5], [5]],
  ])('K = 0: %j x %j is all zeros, whatever out held', async (a, b, shape) => {
    for (const dtype of DTYPES) {
      const out = made(filled(sizeOf(shape), NaN), shape, dtype);
      await onEveryPath('matmul', [made([], a, dtype), made([], b, dtype)], { out }, (result) => {
        expect(result.shape).toEqual(shape);
        expect(numbersOf(result)).toEqual(filled(sizeOf(shape), 0));
        expect(result.data).toBe(out.data);
        out.data.set(made(filled(sizeOf(shape), NaN), shape, dtype).data);
      });
    }
  });

  it('K = 0 still gets its bias and activation', async () => {
    const bias = made([1, -2, 3], [3]);
    await onEveryPath('matmul', [made([], [2, 0]), made([], [0, 3])], { bias, activation: 'relu' }, (result) =>
      expect(numbersOf(result)).toEqual([1, 0, 3, 1, 0, 3]),
    );
  });

  it.each([
    [[0, 2], [2], [0]],
    [
      [0, 4, 8],
      [0, 8, 4],
      [0, 4, 4],
    ],
    [
      [0, 4, 8],
      [1, 8, 4],
      [0, 4, 4],
    ],
    [
      [1, 4, 8],
      [0, 8, 4],
      [0, 4, 4],
    ],
    [
      [0, 4, 8],
      [8, 4],
      [0, 4, 4],
    ],
    [
      [0, 3],
      [3, 5],
      [0, 5],
    ],
    [
      [4, 3],
      [3, 0],
      [4, 0],
    ],
    [
      [0, 0],
      [0, 0],
      [0, 0],
    ],
    [
      [2 ** 40, 2 ** 40, 0],
      [0, 0],
      [2 ** 40, 2 ** 40, 0],
    ],
  ])('%j x %j is empty', async (a, b, shape) => {
    const inputs = [made(filled(sizeOf(a), 1), a), made(filled(sizeOf(b), 1), b)];
    await onEveryPath('matmul', inputs, {}, (result) => {
      expect(result.shape).toEqual(shape);
      expect(result.data.length).toBe(0);
    });
  });
});

describe('matmul broadcasting', () => {
  it('matches batch axes from the right when ranks differ', async () => {
    const b = made([1, 10, 2, 20, 3, 30, 4, 40], [4, 2, 1]);
    await onEveryPath('matmul', [made(counting(16), [2, 4, 1, 2]), b], {}, (result) => {
      expect(result.shape).toEqual([2, 4, 1, 1]);
      expect(numbersOf(result)).toEqual([21, 86, 195, 348, 109, 262, 459, 700]);
    });
  });

  it.each([
    [
      [4, 1, 2],
      [2, 4, 2, 1],
    ],
    [
      [2, 3],
      [5, 3, 4],
    ],
    [
      [2, 4, 1, 2],
      [2, 1],
    ],
    [
      [2, 1, 3, 2],
      [4, 2, 5],
    ],
  ])('lets either side have fewer axes: %j x %j', async (a, b) => {
    const inputs = [made(integers(sizeOf(a), 1), a), made(integers(sizeOf(b), 2), b)] as const;
    const expected = matmulExpected(...inputs);
    await onEveryPath('matmul', inputs, {}, (result) => {
      expect(result.shape).toEqual(expected.shape);
      expect(numbersOf(result)).toEqual(expected.value);
    });
  });

  it('keeps a leading axis of one', async () => {
    await onEveryPath('matmul', [made(filled(6, 1), [1, 2, 3]), made(filled(12, 1), [3, 4])], {}, (result) => {
      expect(result.shape).toEqual([1, 2, 4]);
      expect(numbersOf(result)).toEqual(filled(8, 3));
    });
  });

  it('computes every item of a batch', async () => {
    const inputs = [made(counting(24, 0), [2, 3, 4]), made(counting(40, 100), [2, 4, 5])] as const;
    const expected = matmulExpected(...inputs);
    await onEveryPath('matmul', inputs, {}, (result) => {
      expect(numbersOf(result)).toEqual(expected.value);
      expect(numbersOf(result).slice(15, 17)).toEqual([6910, 6964]);
    });
  });

  it('broadcasts both operands at once', async () => {
    const inputs = [made(integers(36, 1), [3, 1, 2, 6]), made(integers(60, 2), [1, 5, 6, 2])] as const;
    const expected = matmulExpected(...inputs);
    await onEveryPath('matmul', inputs, {}, (result) => {
      expect(result.shape).toEqual([3, 5, 2, 2]);
      expect(numbersOf(result)).toEqual(expected.value);
    });
  });

  it('takes a batch of row vectors times one matrix as one product', async () => {
    const inputs = [made(integers(4 * 3 * 7, 3), [4, 3, 7]), made(integers(35, 4), [7, 5])] as const;
    const expected = matmulExpected(...inputs);
    await onEveryPath('matmul', inputs, {}, (result) => {
      expect(result.shape).toEqual([4, 3, 5]);
      expect(numbersOf(result)).toEqual(expected.value);
    });
  });
});

describe('matmul of vectors', () => {
  it.each([
    [[3], [3], []],
    [[3], [3, 2], [2]],
    [[2, 3], [3], [2]],
    [[4, 2, 3], [3], [4, 2]],
    [[3], [4, 3, 2], [4, 2]],
  ])('%j x %j has shape %j', async (a, b, shape) => {
    const inputs = [made(integers(sizeOf(a), 5), a), made(integers(sizeOf(b), 6), b)] as const;
    const expected = matmulExpected(...inputs);
    await onEveryPath('matmul', inputs, {}, (result) => {
      expect(result.shape).toEqual(shape);
      expect(numbersOf(result)).toEqual(expected.value);
    });
  });

  it.each([
    [[2, 3], [3], false],
    [[3, 2], [3], true],
    [[4, 2, 3], [3], false],
    [[3], [4, 3, 2], false],
  ])('the bias of %j x %j goes along the last axis of the result', async (a, b, transposeA) => {
    const inputs = [made(integers(sizeOf(a), 7), a), made(integers(sizeOf(b), 8), b)] as const;
    const options = { bias: made([100, -200], [2]), transposeA };
    const expected = matmulExpected(...inputs, options);
    await onEveryPath('matmul', inputs, options, (result) => {
      expect(result.shape).toEqual(expected.shape);
      expect(numbersOf(result)).toEqual(expected.value);
    });
  });
});

describe('matmul of small integers', () => {
  it('writes the second row of a column (flame/blis#182)', async () => {
    await onEveryPath('matmul', [made([1, 1], [2, 1]), made([2], [1, 1])], {}, (result) =>
      expect(numbersOf(result)).toEqual([2, 2]),
    );
  });

  it.each(DTYPES)('is exact but for the rounding of what is stored, for every m, n, k in 1..17 (%s)', async (dtype) => {
    const [left, right] = [integers(289, 1), integers(289, 2)];
    const whole = [made(left, [17, 17], dtype), made(right, [17, 17], dtype)];
    for (const backend of await pathsOf('matmul', whole)) {
      const wrong: string[] = [];
      for (let size = 0; size < 17 ** 3; size++) {
        const [m, n, k] = [1 + (size % 17), 1 + (Math.floor(size / 17) % 17), 1 + Math.floor(size / 289)];
        const inputs = [made(left.subarray(0, m * k), [m, k], dtype), made(right.subarray(0, k * n), [k, n], dtype)];
        const { data } = callSync('matmul', inputs, { backend });
        const sums = Float64Array.from({ length: m * n }, (_, at) => {
          let sum = 0;
          for (let step = 0; step < k; step++)
            sum += left[Math.floor(at / n) * k + step]! * right[step * n + (at % n)]!;
          return sum;
        });
        const expected = elements(sums, dtype);
        if (data.some((value: number, at: number) => value !== expected[at])) wrong.push(`${m}x${n}x${k}`);
      }
      expect(wrong, backend).toEqual([]);
    }
  });
});

describe('matmul out', () => {
  it('overwrites what it held', async () => {
    const out = made(filled(4, NaN), [2, 2]);
    await onEveryPath('matmul', [made([1, 2, 3, 4], [2, 2]), made([5, 6, 7, 8], [2, 2])], { out }, (result) => {
      expect(Array.from(out.data)).toEqual([19, 22, 43, 50]);
      expect(result.data).toBe(out.data);
      out.data.fill(NaN);
    });
  });

  it('holds nothing of the call before', async () => {
    const guard = filled(8, NaN);
    const finite = [counting(35), counting(21)] as const;
    const inputs = finite.map((numbers, at) => {
      const data = Float32Array.from([...guard, ...numbers, ...guard]).subarray(8, 8 + numbers.length);
      return { data, shape: at === 0 ? [5, 7] : [7, 3], dtype: 'f32' as const };
    });
    const spoilt = [made(filled(35, NaN), [5, 7]), made(filled(21, NaN), [7, 3])];
    const expected = matmulExpected(inputs[0]!, inputs[1]!);
    for (let round = 0; round < 2; round++) {
      await onEveryPath('matmul', spoilt, {}, (result) => expect(numbersOf(result)).toEqual(filled(15, NaN)));
      await onEveryPath('matmul', inputs, {}, (result) => {
        expect(numbersOf(result)).toEqual(expected.value);
        for (const { data } of inputs) {
          const whole = new Float32Array(data.buffer);
          expect([...whole.slice(0, 8), ...whole.slice(-8)]).toEqual([...guard, ...guard]);
        }
      });
    }
  });
});

describe('matmul in half precision', () => {
  it.each(['f16', 'bf16'] as const)('%s accumulates wider than it stores', async (dtype) => {
    expect.hasAssertions();
    const inputs = [made(filled(600, 1), [1, 600], dtype), made(filled(600, 4.125), [600, 1], dtype)] as const;
    const expected = matmulExpected(...inputs);
    await onEveryPath('matmul', inputs, {}, (result) => expectWithin(result, expected, 'matmul', inputs, {}));
  });
});
