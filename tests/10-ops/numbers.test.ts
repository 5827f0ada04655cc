import { decodeHalf, encodeHalf, isWithin, matmulSync, plan, tensor, tolerance } from 'uhop';
import { describe, expect, it } from 'vitest';
import { onEveryPath } from '../support/paths.ts';
import { integers, values } from '../support/random.ts';
import { matmulExpected } from '../support/reference.ts';
import { filled, made, numbersOf } from '../support/tensors.ts';

describe('NaN and infinities', () => {
  it.each([
    ['0·Inf', [0, 1], [Infinity, 1]],
    ['0·NaN', [0, 1], [NaN, 1]],
    ['Inf·0', [Infinity, 1], [0, 1]],
    ['Inf - Inf', [Infinity, -Infinity], [1, 1]],
  ])('%s is NaN in a product', async (_, a, b) => {
    for (const dtype of ['f32', 'f64', 'f16', 'bf16'] as const) {
      await onEveryPath('matmul', [made(a, [1, 2], dtype), made(b, [2, 1], dtype)], {}, (result) =>
        expect(numbersOf(result)).toEqual([NaN]),
      );
    }
  });

  it('one NaN of a reaches its row, one of b its column, and no other element', async () => {
    const [m, k, n] = [9, 11, 19];
    for (let at = 0; at < m * k; at += 7) {
      const a = filled(m * k, 1);
      a[at] = NaN;
      const row = Math.floor(at / k);
      const expected = Array.from({ length: m * n }, (_, index) => (Math.floor(index / n) === row ? NaN : k));
      await onEveryPath('matmul', [made(a, [m, k]), made(filled(k * n, 1), [k, n])], {}, (result) =>
        expect(numbersOf(result)).toEqual(expected),
      );
    }
    for (let at = 0; at < k * n; at += 13) {
      const b = filled(k * n, 1);
      b[at] = NaN;
      const expected = Array.from({ length: m * n }, (_, index) => (index % n === at % n ? NaN : k));
      await onEveryPath('matmul', [made(filled(m * k, 1), [m, k]), made(b, [k, n])], {}, (result) =>
        expect(numbersOf(result)).toEqual(expected),
      );
    }
  });

  it('fused relu keeps NaN and turns -Inf into 0', async () => {
    const inputs = [made([NaN, -Infinity, Infinity, -1], [4, 1]), made([1], [1, 1])];
    await onEveryPath('matmul', inputs, { activation: 'relu' }, (result) =>
      expect(numbersOf(result)).toEqual([NaN, 0, Infinity, 0]),
    );
    const image = made([NaN, -Infinity, Infinity, -1], [1, 1, 2, 2]);
    await onEveryPath('conv2d', [image, made([1], [1, 1, 1, 1])], { activation: 'relu' }, (result) =>
      expect(numbersOf(result)).toEqual([NaN, 0, Infinity, 0]),
    );
  });

  it.each([
    ['depthwise', 2, 2],
    ['dense', 1, 2],
  ])('an infinite weight over the padding gives NaN (%s)', async (_, groups, channels) => {
    const weights = filled(9 * channels * (channels / groups), 1);
    weights[0] = Infinity;
    const inputs = [
      made(filled(16 * channels, 1), [1, channels, 4, 4]),
      made(weights, [channels, channels / groups, 3, 3]),
    ];
    await onEveryPath('conv2d', inputs, { groups, padding: 1 }, (result) => {
      const first = numbersOf(result).slice(0, 16);
      expect(first.map(Number.isNaN)).toEqual(first.map((__, index) => index < 4 || index % 4 === 0));
      expect(first.filter((value) => value === Infinity)).toHaveLength(9);
    });
  });

  it('sums that overflow are infinite', async () => {
    await onEveryPath('matmul', [made([3e38, 3e38], [1, 2]), made([1, 1], [2, 1])], {}, (result) =>
      expect(numbersOf(result)).toEqual([Infinity]),
    );
  });

  it('subnormal products and inputs count', async () => {
    const tiny = 2 ** -140;
    await onEveryPath('matmul', [made([tiny, tiny], [1, 2]), made([1, 0.5], [2, 1])], {}, (result) =>
      expect(numbersOf(result)).toEqual([1.5 * tiny]),
    );
  });
});

describe('the tolerance checker', () => {
  const [m, n, k] = [8, 8, 64];
  const inputs = [made(values(m * k, 1), [m, k]), made(values(k * n, 2), [k, n])] as const;
  const expected = matmulExpected(...inputs);
  const limit = tolerance(plan('matmul', inputs).call);
  const accepts = (got: ArrayLike<number>): boolean =>
    expected.value.every((value, at) => isWithin(limit, got[at]!, value, expected.scale[at]!));

  it('accepts a right result', () => {
    expect(accepts(matmulSync(...inputs, { backend: 'naive' }).data)).toBe(true);
  });

  const cut = (data: ArrayLike<number>): Float32Array => decodeHalf(encodeHalf(data, 'bf16'), 'bf16');
  it.each([
    ['one term too few', () => matmulSync(withoutLast(inputs[0], k), inputs[1])],
    ['inputs cut to bf16', () => matmulSync(tensor(cut(inputs[0].data), [m, k]), tensor(cut(inputs[1].data), [k, n]))],
    ['the other transpose', () => matmulSync(inputs[0], tensor(inputs[1].data, [n, k]), { transposeB: true })],
    ['a bias from nowhere', () => matmulSync(...inputs, { bias: tensor([1e-3], [1]) })],
    ['a relu that was not asked for', () => matmulSync(...inputs, { activation: 'relu' })],
    ['zeros', () => ({ data: new Float32Array(m * n) })],
    ['NaN', () => ({ data: new Float32Array(m * n).fill(NaN) })],
    ['infinities', () => ({ data: new Float32Array(m * n).fill(Infinity) })],
  ])('fails on a wrong kernel: %s', (_, wrong) => {
    expect(accepts(wrong().data)).toBe(false);
  });

  it('fails on a sum kept in half precision', () => {
    const sums = new Float32Array(m * n);
    for (let step = 0; step < k; step++) {
      for (let at = 0; at < m * n; at++) {
        const product = inputs[0].data[Math.floor(at / n) * k + step]! * inputs[1].data[step * n + (at % n)]!;
        sums[at] = decodeHalf(encodeHalf([sums[at]! + product], 'f16'), 'f16')[0]!;
      }
    }
    expect(accepts(sums)).toBe(false);
  });

  it('fails on a single wrong element', () => {
    const data = matmulSync(...inputs, { backend: 'naive' }).data.slice();
    data[37]! *= 1 + 2 ** -10;
    expect(accepts(data)).toBe(false);
  });

  it('bounds nothing where the theory does not: sums of 2^24 terms and more', () => {
    const deep = (K: number) =>
      tolerance(
        plan('matmul', [
          [1, K],
          [K, 1],
        ]).call,
      );
    expect(deep(2 ** 23).c).toBeGreaterThan(0);
    expect(isWithin(deep(2 ** 23), 3, 1, 1)).toBe(false);
    expect([2 ** 24 - 1, 2 ** 24, 2 ** 30].map((K) => deep(K).c)).toEqual([Infinity, Infinity, Infinity]);
    expect(isWithin(deep(2 ** 24), 3, 1, 1)).toBe(true);
    expect(isWithin(deep(2 ** 24), NaN, 1, 1)).toBe(false);
  });

  it('accepts an infinity only where the exact value is beyond the largest number', () => {
    expect(isWithin(limit, Infinity, 1e39, 1e39)).toBe(true);
    expect(isWithin(limit, -Infinity, 1e39, 1e39)).toBe(false);
    expect(isWithin(limit, Infinity, Infinity, Infinity)).toBe(true);
    for (const y of [7, -Infinity, NaN]) expect(isWithin(limit, y, Infinity, Infinity)).toBe(false);
    expect(isWithin(limit, Infinity, 1e38, 1e38)).toBe(false);
    expect(isWithin(limit, NaN, 1e39, 1e39)).toBe(false);
    expect(isWithin(limit, 1, NaN, 1)).toBe(false);
  });
});

function withoutLast(
  { data, shape }: { readonly data: ArrayLike<number>; readonly shape: readonly number[] },
  k: number,
) {
  const numbers = Float32Array.from(data, (value, index) => (index % k === k - 1 ? 0 : value));
  return tensor(numbers, shape);
}

describe('integers', () => {
  it('are exact while no partial sum passes 2^24', async () => {
    const [m, n, k] = [37, 41, 300];
    const inputs = [made(integers(m * k, 3), [m, k]), made(integers(k * n, 4), [k, n])] as const;
    const expected = matmulExpected(...inputs);
    await onEveryPath('matmul', inputs, {}, (result) => expect(numbersOf(result)).toEqual(expected.value));
  });

  it('give the same bits again', async () => {
    const inputs = [made(values(50 * 130, 5), [50, 130]), made(values(130 * 70, 6), [130, 70])];
    const first = new Map<string, Uint8Array>();
    for (let round = 0; round < 3; round++) {
      await onEveryPath('matmul', inputs, {}, (result) => {
        const bits = new Uint8Array(result.data.buffer);
        expect(bits).toEqual(first.get(result.path) ?? bits);
        first.set(result.path, bits);
      });
    }
  });
});
