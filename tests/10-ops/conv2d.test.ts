import { conv2d, conv2dSync, plan } from 'uhop';
import { describe, expect, it } from 'vitest';
import { onEveryPath, pathsOf } from '../support/paths.ts';
import { integers, values } from '../support/random.ts';
import { conv2dExpected } from '../support/reference.ts';
import { counting, filled, made, numbersOf, sizeOf } from '../support/tensors.ts';

const square = (size: number) => made(counting(size * size), [1, 1, size, size]);

describe('conv2d groups', () => {
  it('sums each group by itself', async () => {
    const inputs = [made([0, 0, 0, 1], [1, 4, 1, 1]), made(filled(32, 1), [16, 2, 1, 1])];
    await onEveryPath('conv2d', inputs, { groups: 2 }, (result) => {
      expect(result.shape).toEqual([1, 16, 1, 1]);
      expect(numbersOf(result)).toEqual([...filled(8, 0), ...filled(8, 1)]);
    });
  });

  it('runs one filter per channel', async () => {
    const x = made([10, 10, 10, 10, 21, 22, 23, 24, 10, 20, 30, 40, 0, 0, 0, 0], [1, 4, 2, 2]);
    const w = [0.25, 0.25, 0.25, 0.25, 0, 1, 0, 1, 10, 20, 30, 40, 50, 50, 50, 50];
    const bias = made([6000, 7000, 8000, 9000], [4]);
    await onEveryPath('conv2d', [x, made(w, [4, 1, 2, 2])], { bias, groups: 4 }, (result) =>
      expect(numbersOf(result)).toEqual([6010, 7046, 11000, 9000]),
    );
  });

  it('applies dilation to a 3x3 depthwise filter', async () => {
    const inputs = [square(5), square(3)];
    await onEveryPath('conv2d', inputs, { dilation: 2 }, (result) => expect(numbersOf(result)).toEqual([777]));
    await onEveryPath('conv2d', inputs, { dilation: 2, padding: 2 }, (result) => {
      const out = numbersOf(result);
      expect([out[0], out[4], out[12], out[20], out[24]]).toEqual([228, 248, 777, 304, 260]);
    });
  });
});

describe('conv2d padding', () => {
  it.each([
    ['same', [348, 252, 274, 175]],
    ['same-lower', [111, 217, 363, 573]],
  ] as const)('%s with stride 2 puts the odd row and column on its own side', async (padding, expected) => {
    await onEveryPath('conv2d', [square(4), square(3)], { stride: 2, padding }, (result) =>
      expect(numbersOf(result)).toEqual(expected),
    );
  });

  it('may differ on each side', async () => {
    const inputs = [made(counting(6), [1, 1, 2, 3]), made([1, 10, 100, 1000], [1, 1, 2, 2])];
    await onEveryPath('conv2d', inputs, { padding: [1, 0, 0, 2] }, (result) => {
      expect(result.shape).toEqual([1, 1, 2, 4]);
      expect(numbersOf(result)).toEqual([2100, 3200, 300, 0, 5421, 6532, 603, 0]);
    });
  });

  it('[h, w] pads both sides of each axis', () => {
    const { outShape, call } = plan(
      'conv2d',
      [
        [1, 1, 5, 5],
        [1, 1, 3, 3],
      ],
      { padding: [2, 1] },
    );
    expect(outShape).toEqual([1, 1, 7, 5]);
    expect(call).toMatchObject({ padTop: 2, padBottom: 2, padLeft: 1, padRight: 1 });
  });

  it.each([1, 2, 3, 4, 5])("'same' with stride %i gives the input's size over it, rounded up", (stride) => {
    for (let size = 1; size <= 12; size++) {
      for (const padding of ['same', 'same-lower'] as const) {
        const { outShape } = plan(
          'conv2d',
          [
            [1, 1, size, size],
            [1, 1, 3, 2],
          ],
          { stride, padding, dilation: [1, 2] },
        );
        expect(outShape).toEqual([1, 1, Math.ceil(size / stride), Math.ceil(size / stride)]);
      }
    }
  });
});

describe('conv2d shapes that cannot be', () => {
  it.each([
    ['an effective kernel above the input', [1, 1, 3, 3], [1, 1, 2, 2], { dilation: [5, 4] }, /6x5.*3x3/s],
    ['one too tall even when padded', [1, 1, 1, 9], [1, 1, 4, 2], { padding: 1 }, /4x2.*3x11/s],
    ['one too wide even when padded', [1, 1, 9, 1], [1, 1, 2, 4], { padding: 1 }, /2x4.*11x3/s],
    ['groups that do not divide C', [1, 2, 4, 4], [4, 2, 4, 4], { groups: 4 }, /groups 4/],
    ['negative groups', [1, 2, 4, 4], [4, 2, 4, 4], { groups: -1 }, /groups.*-1/],
    ['zero groups', [1, 2, 4, 4], [4, 2, 4, 4], { groups: 0 }, /groups.*0/],
    ['half a group', [1, 2, 4, 4], [4, 2, 4, 4], { groups: 0.5 }, /groups.*0\.5/],
    ['groups that do not divide O', [1, 4, 4, 4], [3, 2, 2, 2], { groups: 2 }, /groups 2/],
    ['weights of another depth', [1, 4, 4, 4], [2, 3, 2, 2], {}, /3 input channels/],
    ['a kernel of no rows', [1, 1, 4, 4], [1, 1, 0, 2], {}, /0x2/],
    ['an image of three axes', [1, 4, 4], [1, 1, 2, 2], {}, /\[batch, C, H, W\]/],
    ['weights of two axes', [1, 1, 4, 4], [2, 2], {}, /\[O, C\/groups, KH, KW\]/],
    ['a bias of another length', [1, 1, 4, 4], [2, 1, 2, 2], { bias: made([1], [1]) }, /expected \[2\]/],
  ])('%s: E_SHAPE', async (_, xShape, wShape, options, message) => {
    const [x, w] = [made(filled(sizeOf(xShape), 1), xShape), made(filled(sizeOf(wShape), 1), wShape)];
    const wrong = expect.objectContaining({ code: 'E_SHAPE', message: expect.stringMatching(message) });
    expect(() => conv2dSync(x, w, options)).toThrow(wrong);
    await expect(conv2d(x, w, options)).rejects.toEqual(wrong);
  });
});

describe('conv2d beyond 64-bit positions', () => {
  const one = made([1], [1, 1, 1, 1]);
  it.each([
    ['a stride', one, one, { stride: 2 ** 50 }],
    ['a dilation', one, one, { dilation: [1, 2 ** 50] }],
    ['a padding', one, one, { padding: [2 ** 50, 0, 0, 0], stride: 2 ** 46 }],
    ['a padding whose sum is no exact integer', one, one, { padding: 2 ** 53 - 1, stride: 2 ** 46 }],
    ['taps of no channels', made([], [1, 0, 2 ** 32, 2 ** 32]), made([], [1, 0, 2 ** 32, 2 ** 32]), {}],
  ])('%s is E_LIMIT on every path', async (_, x, w, options) => {
    const beyond = expect.objectContaining({ code: 'E_LIMIT', message: expect.stringMatching(/at most 2\^47/) });
    for (const backend of await pathsOf('conv2d', [one, one])) {
      expect(() => conv2dSync(x, w, { ...options, backend }), backend).toThrow(beyond);
      await expect(conv2d(x, w, { ...options, backend }), backend).rejects.toEqual(beyond);
    }
    expect(() => plan('conv2d', [x.shape, w.shape], options)).toThrow(beyond);
  });

  it('nearly: a window of trillions of taps over no channels is zero', async () => {
    const nothing = made([], [1, 0, 2 ** 20, 2 ** 20]);
    await onEveryPath('conv2d', [nothing, nothing], {}, (result) => expect(numbersOf(result)).toEqual([0]));
    await onEveryPath('conv2d', [one, one], { stride: 2 ** 46, padding: [2 ** 46, 0, 0, 0] }, (result) =>
      expect(numbersOf(result)).toEqual([0, 1]),
    );
  });
});

describe('conv2d of odd sizes', () => {
  it.each([
    ['nchw', 1, [1, 3, 5, 5], [2, 3, 3, 3]],
    ['nchw', 3, [1, 3, 5, 5], [3, 1, 3, 3]],
    ['nhwc', 1, [1, 5, 5, 3], [3, 3, 3, 2]],
    ['nhwc', 3, [1, 5, 5, 3], [3, 3, 1, 3]],
  ] as const)('gives the same bits again, whatever ran between (%s, %i groups)', async (layout, groups, x, w) => {
    const inputs = [made(values(75, 1), x), made(values(sizeOf(w), 2), w)];
    const other = [made(filled(12 * 13, NaN), [1, 1, 12, 13]), made(filled(16, NaN), [1, 1, 4, 4])];
    const first = new Map<string, readonly number[]>();
    for (let round = 0; round < 3; round++) {
      await onEveryPath('conv2d', inputs, { padding: 1, layout, groups }, (result) => {
        const bits = Array.from(new Uint32Array(result.data.buffer));
        expect(bits).toEqual(first.get(result.path) ?? bits);
        first.set(result.path, bits);
      });
      await onEveryPath('conv2d', other, {}, (result) => expect(numbersOf(result)).toEqual(filled(90, NaN)));
    }
  });

  it.each(['nchw', 'nhwc'] as const)('is right in every column for widths 1..40 (%s)', async (layout) => {
    for (const channels of [1, 3, 4, 5, 9]) {
      for (let width = 1; width <= 40; width++) {
        const xShape = layout === 'nchw' ? [1, channels, 3, width] : [1, 3, width, channels];
        const wShape = layout === 'nchw' ? [2, channels, 3, 3] : [3, 3, channels, 2];
        const inputs = [
          made(integers(3 * width * channels, width), xShape),
          made(integers(18 * channels, channels), wShape),
        ] as const;
        const expected = conv2dExpected(...inputs, { layout, padding: [1, 1, 1, 1] });
        await onEveryPath('conv2d', inputs, { layout, padding: 1 }, (result) =>
          expect(numbersOf(result)).toEqual(expected.value),
        );
      }
    }
  });

  it.each([
    ['nchw', 1, 1, 150],
    ['nchw', 2, 3, 77],
    ['nhwc', 1, 140, 5],
    ['nhwc', 2, 71, 9],
  ] as const)('is right for depthwise rows of several vectors (%s, stride %i)', async (layout, stride, most, width) => {
    for (const dtype of ['f32', 'f64'] as const) {
      for (let channels = most; channels > Math.max(most - 9, 0); channels--) {
        for (const columns of [width, width - 1, width - 4]) {
          const xShape = layout === 'nchw' ? [1, channels, 3, columns] : [1, 3, columns, channels];
          const wShape = layout === 'nchw' ? [channels, 1, 2, 3] : [2, 3, 1, channels];
          const inputs = [
            made(integers(3 * columns * channels, columns), xShape, dtype),
            made(integers(6 * channels, channels), wShape, dtype),
          ] as const;
          const options = { layout, stride, groups: channels };
          const expected = conv2dExpected(...inputs, { ...options, padding: [1, 2, 0, 1] });
          await onEveryPath('conv2d', inputs, { ...options, padding: [1, 2, 0, 1] }, (result) =>
            expect(numbersOf(result)).toEqual(expected.value),
          );
        }
      }
    }
  });

  it('keeps large magnitudes', async () => {
    await onEveryPath('conv2d', [made([2e9], [1, 1, 1, 1]), made([7e8], [1, 1, 1, 1])], {}, (result) =>
      expect(Math.abs(numbersOf(result)[0]! / 1.4e18 - 1)).toBeLessThan(1e-6),
    );
  });
});

describe('conv2d of nothing', () => {
  it.each([
    ['no images', [0, 2, 4, 4], [3, 2, 3, 3], [0, 3, 2, 2]],
    ['no filters', [1, 2, 4, 4], [0, 2, 3, 3], [1, 0, 2, 2]],
  ])('%s: an empty result', async (_, xShape, wShape, outShape) => {
    const inputs = [made(filled(sizeOf(xShape), 1), xShape), made(filled(sizeOf(wShape), 1), wShape)];
    await onEveryPath('conv2d', inputs, {}, (result) => {
      expect(result.shape).toEqual(outShape);
      expect(result.data.length).toBe(0);
    });
  });

  it('no channels: zeros, whatever out held', async () => {
    const out = made(filled(8, NaN), [1, 2, 2, 2]);
    await onEveryPath('conv2d', [made([], [1, 0, 2, 2]), made([], [2, 0, 1, 1])], { out }, (result) => {
      expect(numbersOf(result)).toEqual(filled(8, 0));
      out.data.fill(NaN);
    });
  });

  it('no channels: the bias alone', async () => {
    const inputs = [made([], [1, 0, 2, 2]), made([], [2, 0, 1, 1])];
    const options = { bias: made([3, -4], [2]), activation: 'relu' } as const;
    await onEveryPath('conv2d', inputs, options, (result) =>
      expect(numbersOf(result)).toEqual([3, 3, 3, 3, 0, 0, 0, 0]),
    );
  });
});
