import { conv2d, conv2dSync, explain, matmul, matmulSync, plan, prepack, tensor, type Tensor } from 'uhop';
import { describe, expect, it } from 'vitest';
import type { DType } from '../../backends/contract.ts';
import { pathsOf } from '../support/paths.ts';
import { values } from '../support/random.ts';
import { elements, sizeOf } from '../support/tensors.ts';

function random(shape: readonly number[], seed: number, dtype: DType = 'f32'): Tensor {
  return tensor(elements(values(sizeOf(shape), seed), dtype), shape, dtype);
}

const bits = ({ data }: Tensor): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Shapes of a and b, and whether b is given transposed. */
const PRODUCTS = [
  ['one row', [1, 1300], [1300, 700], false],
  ['a few rows', [5, 1300], [1300, 97], false],
  ['several tiles', [150, 1100], [1100, 333], false],
  ['a transposed weight', [33, 600], [515, 600], true],
  ['a batch of rows', [7, 3, 64], [64, 50], false],
  ['a batch of weights', [4, 9, 64], [4, 64, 50], false],
  ['no k at all', [3, 0], [0, 5], false],
  ['no columns', [3, 4], [4, 0], false],
  ['a vector as weight', [200, 300], [300], false],
] as const;

describe.each(['f32', 'f64', 'f16', 'bf16'] as const)('a prepacked %s weight', (dtype) => {
  it.each(PRODUCTS)(
    'gives the bits of the plain one, every time, on every path: %s',
    async (_, left, right, transposeB) => {
      const [a, b] = [random(left, 1, dtype), random(right, 2, dtype)];
      const packed = prepack(b);
      for (const backend of await pathsOf('matmul', [a, b], { transposeB })) {
        const expected = bits(matmulSync(a, b, { transposeB, backend }));
        const [sync, again] = [0, 1].map(() => matmulSync(a, packed, { transposeB, backend }));
        const later = await Promise.all([0, 1].map(() => matmul(a, packed, { transposeB, backend })));
        for (const result of [sync!, again!, ...later]) expect(bits(result).equals(expected), backend).toBe(true);
      }
    },
  );

  it.each(['nchw', 'nhwc'] as const)('serves convolutions, %s', async (layout) => {
    const nchw = layout === 'nchw';
    const x = random(nchw ? [2, 6, 9, 8] : [2, 9, 8, 6], 3, dtype);
    for (const groups of [1, 2, 6]) {
      const w = random(nchw ? [12, 6 / groups, 3, 3] : [3, 3, 6 / groups, 12], 4, dtype);
      const packed = prepack(w);
      for (const backend of await pathsOf('conv2d', [x, w], { layout, groups, padding: 1, precision: 'fast' })) {
        const options = { layout, groups, padding: 1, precision: 'fast', backend } as const;
        const expected = bits(conv2dSync(x, w, options));
        const results = [
          conv2dSync(x, packed, options),
          await conv2d(x, packed, options),
          conv2dSync(x, packed, options),
        ];
        for (const result of results) expect(bits(result).equals(expected), `${backend} ${groups}`).toBe(true);
      }
    }
  });
});

describe('prepack', () => {
  it('takes the weight as it is at the call', async () => {
    const a = random([64, 1024], 5);
    const b = random([1024, 1024], 6);
    const expected = bits(matmulSync(a, b));
    const packed = prepack(b);
    b.data.fill(Number.NaN);
    structuredClone(b.data.buffer, { transfer: [b.data.buffer as ArrayBuffer] });
    expect(bits(matmulSync(a, packed)).equals(expected)).toBe(true);
    expect(bits(await matmul(a, packed)).equals(expected)).toBe(true);
  });

  it('keeps one weight for calls that read it in different ways', () => {
    const b = random([48, 48], 7);
    const packed = prepack(b);
    for (const [M, transposeB] of [
      [3, false],
      [20, true],
      [3, true],
      [20, false],
    ] as const) {
      const a = random([M, 48], M);
      const options = { transposeB, backend: 'cpu' };
      expect(bits(matmulSync(a, packed, options)).equals(bits(matmulSync(a, b, options)))).toBe(true);
    }
  });

  it('may stand first, and in plan and explain', async () => {
    const [a, b] = [random([4, 5], 8), random([5, 6], 9)];
    expect(bits(matmulSync(prepack(a), prepack(b))).equals(bits(matmulSync(a, b)))).toBe(true);
    expect(plan('matmul', [a, prepack(b)]).outShape).toEqual([4, 6]);
    expect((await explain('matmul', [a, prepack(b)])).ranking.length).toBeGreaterThan(0);
  });

  it('has no data that could be written, and is refused where it would be', () => {
    const packed = prepack(random([4, 4], 10));
    expect(Object.keys(packed).toSorted()).toEqual(['dtype', 'shape']);
    const a = random([4, 4], 11);
    const wrong = { out: packed } as unknown as { out: Tensor };
    expect(() => matmulSync(a, a, wrong)).toThrow(expect.objectContaining({ code: 'E_ARGUMENT' }));
  });

  it('refuses what tensor refuses', () => {
    expect(() => prepack({ data: new Float32Array(3), shape: [2, 2] })).toThrow(
      expect.objectContaining({ code: 'E_SHAPE' }),
    );
    expect(() => prepack({ data: new Int8Array(4), shape: [2, 2] } as never)).toThrow(
      expect.objectContaining({ code: 'E_DTYPE' }),
    );
    expect(() => prepack(undefined as never)).toThrow(expect.objectContaining({ code: 'E_ARGUMENT' }));
  });
});
