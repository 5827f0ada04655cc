import { reluSync } from 'uhop';
import { describe, expect, it } from 'vitest';
import { onEveryPath } from '../support/paths.ts';
import { values } from '../support/random.ts';
import { filled, made, numbersOf } from '../support/tensors.ts';

describe('relu', () => {
  it.each(['f32', 'f64', 'f16', 'bf16'] as const)('keeps NaN and turns -0 into 0 (%s)', async (dtype) => {
    const x = made([NaN, -1, 0, 1, Infinity, -Infinity, -0], [7], dtype);
    await onEveryPath('relu', [x], {}, (result) => expect(numbersOf(result)).toEqual([NaN, 0, 0, 1, Infinity, 0, 0]));
  });

  it('keeps NaN in every lane', async () => {
    for (let lane = 0; lane < 67; lane++) {
      const x = filled(67, -2);
      x[lane] = NaN;
      const expected = x.map((value) => (Number.isNaN(value) ? NaN : 0));
      await onEveryPath('relu', [made(x, [67])], {}, (result) => expect(numbersOf(result)).toEqual(expected));
    }
  });

  it('keeps subnormals', async () => {
    await onEveryPath('relu', [made([2 ** -149, -(2 ** -149), 2 ** -127], [3])], {}, (result) =>
      expect(numbersOf(result)).toEqual([2 ** -149, 0, 2 ** -127]),
    );
  });

  it('keeps the shape, whatever it is', () => {
    expect(reluSync(made([-1], [])).shape).toEqual([]);
    expect(reluSync(made([], [3, 0, 2])).shape).toEqual([3, 0, 2]);
    expect(reluSync(made(filled(6, -1), [1, 2, 3])).shape).toEqual([1, 2, 3]);
  });

  it.each(['f32', 'f64'] as const)('is exact at every length (%s)', async (dtype) => {
    for (const length of [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 1000, 4097]) {
      const x = made(values(length, length), [length], dtype);
      const expected = Array.from(x.data, (value) => Math.max(value, 0));
      await onEveryPath('relu', [x], {}, (result) => expect(numbersOf(result)).toEqual(expected));
    }
  });

  it('runs in place', async () => {
    const x = made([], [0]);
    expect(reluSync(x, { out: x }).data).toBe(x.data);
    const data = new Float32Array(5);
    const inPlace = { data, shape: [5] };
    const fresh = (): void => data.set([-1, 2, -3, 4, NaN]);
    fresh();
    await onEveryPath('relu', [{ ...inPlace, dtype: 'f32' }], { out: inPlace }, (result) => {
      expect(result.data).toBe(data);
      expect(Array.from(data)).toEqual([0, 2, 0, 4, NaN]);
      fresh();
    });
  });
});
