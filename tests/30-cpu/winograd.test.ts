import { conv2dSync, explain, tensor, type Conv2dOptions, type Tensor } from 'uhop';
import { describe, expect, it } from 'vitest';
import { addon, conv2dCall, shapeNumbers } from '../support/native.ts';
import { randomNumbers } from '../support/numbers.ts';
import { values } from '../support/random.ts';
import { conv2dExpected, type Expected, expectWithin } from '../support/reference.ts';
import { made, numbersOf } from '../support/tensors.ts';

const PADS = [1, 1, 1, 1] as const;

interface Sizes {
  readonly C: number;
  readonly H: number;
  readonly W: number;
  readonly O: number;
  readonly layout?: 'nchw' | 'nhwc';
  readonly dtype?: 'f32' | 'f64';
  readonly groups?: number;
  readonly batch?: number;
}

interface Problem {
  readonly x: Tensor;
  readonly w: Tensor;
  readonly options: Conv2dOptions & { readonly padding: typeof PADS };
}

/** A 3×3 convolution of the given numbers, which are taken in the order of the layout. */
function problem(
  sizes: Sizes,
  x: (count: number) => ArrayLike<number>,
  w: (count: number) => ArrayLike<number>,
): Problem {
  const { C, H, W, O, layout = 'nchw', dtype = 'f32', groups = 1, batch = 1 } = sizes;
  const planar = layout === 'nchw';
  const share = C / groups;
  return {
    x: made(x(batch * C * H * W), planar ? [batch, C, H, W] : [batch, H, W, C], dtype),
    w: made(w(O * share * 9), planar ? [O, share, 3, 3] : [3, 3, share, O], dtype),
    options: { layout, groups, padding: PADS },
  };
}

async function pathsOf({ x, w, options }: Problem, precision: 'strict' | 'fast', kernel: string): Promise<string[]> {
  const { ranking } = await explain('conv2d', [x, w], { ...options, precision });
  const paths = ranking.map(({ path }) => path).filter((path) => path.startsWith(`cpu:${kernel}-`));
  expect(paths.length).toBeGreaterThan(0);
  return paths;
}

const sized = (scale: number) => (count: number) => randomNumbers(count, count).map((value) => value * scale);
const positive = (count: number) => randomNumbers(count, count).map((value) => value + 1);
/** Neighbours that differ little, as in a picture. */
const smooth = (count: number) => Float64Array.from({ length: count }, (_, i) => 128 + 100 * Math.sin(i / 9) + (i % 7));
const sparse = (count: number) => values(count, 5).map((value, i) => (i % 3 === 0 ? value : 0));

const KINDS = {
  'both signs': [sized(1), sized(1)],
  'tiny by huge': [sized(2 ** -100), sized(2 ** 90)],
  positive: [positive, positive],
  'a picture': [smooth, sized(1)],
  'subnormal weights': [sized(2 ** 100), sized(2 ** -147)],
} as const;

const SHAPES: readonly Sizes[] = [
  { C: 5, H: 13, W: 38, O: 7 },
  { C: 5, H: 13, W: 38, O: 7, layout: 'nhwc' },
  { C: 600, H: 4, W: 5, O: 3 },
  { C: 600, H: 4, W: 5, O: 3, layout: 'nhwc' },
  { C: 12, H: 7, W: 7, O: 20, groups: 4, batch: 3 },
  { C: 34, H: 7, W: 9, O: 100, groups: 2, batch: 2, layout: 'nhwc' },
  { C: 9, H: 9, W: 11, O: 5, dtype: 'f64' },
  { C: 9, H: 9, W: 11, O: 53, dtype: 'f64', layout: 'nhwc' },
];

describe('winograd', () => {
  it.each(Object.entries(KINDS))("keeps the op's tolerance: %s", async (_, [x, w]) => {
    for (const sizes of SHAPES) {
      const one = problem(sizes, x, w);
      const expected = conv2dExpected(one.x, one.w, one.options);
      for (const backend of await pathsOf(one, 'strict', 'winograd')) {
        const result = conv2dSync(one.x, one.w, { ...one.options, backend });
        expect(result.path).toBe(backend);
        expectWithin(result, expected, 'conv2d', [one.x, one.w], one.options);
      }
    }
  });

  it('offers the larger tiles with precision fast alone, and 3x3 taps side by side alone', async () => {
    const { x, w, options } = problem({ C: 2, H: 9, W: 9, O: 2 }, sized(1), sized(1));
    const offered = async (more: Conv2dOptions) => {
      const { bias: _, out: _out, signal: _signal, borrow: _borrow, ...described } = { ...options, ...more };
      const { ranking } = await explain('conv2d', [x, w], described);
      return [...new Set(ranking.map(({ path }) => /winograd\d?/.exec(path)?.[0]).filter((name) => name))].toSorted();
    };
    expect(await offered({})).toEqual(['winograd']);
    expect(await offered({ precision: 'fast' })).toEqual(['winograd', 'winograd4']);
    expect(await offered({ stride: [1, 2] })).toEqual([]);
    expect(await offered({ dilation: 2 })).toEqual([]);
  });
});

/** Σ_c max |inputs under the tile| · Σ |taps| of each output, for tiles of 2 in nchw and one group. */
function tileScale({ x, w }: Problem): number[] {
  const [batch, C, H, W] = x.shape as [number, number, number, number];
  const O = w.shape[0]!;
  const [inputs, taps] = [numbersOf(x), numbersOf(w)];
  const scale: number[] = [];
  for (let at = 0; at < batch * O * H * W; at++) {
    const [item, o] = [Math.floor(at / (O * H * W)), Math.floor(at / (H * W)) % O];
    const [top, left] = [Math.floor(at / W) % H, at % W].map((pixel) => pixel - (pixel % 2) - 1) as [number, number];
    let sum = 0;
    for (let c = 0; c < C; c++) {
      let largest = 0;
      for (let i = 0; i < 16; i++) {
        const [row, column] = [top + (i >> 2), left + (i & 3)];
        if (row < 0 || row >= H || column < 0 || column >= W) continue;
        largest = Math.max(largest, Math.abs(inputs[((item * C + c) * H + row) * W + column]!));
      }
      const filter = taps.slice((o * C + c) * 9, (o * C + c) * 9 + 9);
      sum += largest * filter.reduce((size, tap) => size + Math.abs(tap), 0);
    }
    scale.push(sum);
  }
  return scale;
}

/** Of every 16 numbers one is 2^30 times as large. */
const uneven = (count: number) => randomNumbers(count, 3).map((value, i) => (i % 16 === 5 ? value * 2 ** 30 : value));

describe.each([
  ['inputs of very different size under one tile', uneven, sized(1)],
  ['zeros that leave an output nothing but zeros', sparse, sparse],
] as const)('%s', (_, x, w) => {
  const C = 3;
  const roundoff = 2 ** -24;
  const gamma = ((C + 12) * roundoff) / (1 - (C + 12) * roundoff);
  const one = problem({ C, H: 12, W: 31, O: 4 }, x, w);
  const expected = conv2dExpected(one.x, one.w, one.options);
  const scale = tileScale(one);

  /** The largest error in units of the bound. */
  const worst = (got: ArrayLike<number>): number =>
    Math.max(...expected.value.map((value, at) => Math.abs(got[at]! - value) / (gamma * 16 * scale[at]!)));

  it('lose digits that the direct sum keeps, within the bound of the tile', async () => {
    for (const backend of await pathsOf(one, 'strict', 'winograd')) {
      const result = conv2dSync(one.x, one.w, { ...one.options, backend });
      expect(worst(numbersOf(result)), backend).toBeLessThan(1);
      expect(() => expectWithin(result, expected, 'conv2d', [one.x, one.w], one.options)).toThrow('element');
    }
  });

  it('a slightly wrong transform would show', () => {
    expect(worst(expected.value.map((value, at) => value + 2 ** -15 * scale[at]!))).toBeGreaterThan(1);
  });
});

describe('winograd4', () => {
  it.each(['nchw', 'nhwc'] as const)(
    'stays within 2^-24 · 200 · |A|·|B| on numbers of one size (%s)',
    async (layout) => {
      for (const sizes of [...SHAPES.filter(({ dtype }) => dtype !== 'f64'), { C: 3, H: 31, W: 75, O: 2 }]) {
        const one = problem({ ...sizes, layout }, sized(1), sized(1));
        const { value, scale } = conv2dExpected(one.x, one.w, one.options);
        for (const backend of await pathsOf(one, 'fast', 'winograd4')) {
          const result = conv2dSync(one.x, one.w, { ...one.options, precision: 'fast', backend });
          expect(result.path).toBe(backend);
          const got = numbersOf(result);
          const wrong = value.findIndex((y, at) => !(Math.abs(got[at]! - y) <= 2 ** -24 * 200 * scale[at]!));
          expect(wrong < 0 ? '' : `${backend}: element ${wrong} is ${got[wrong]}, expected ${value[wrong]}`).toBe('');
        }
      }
    },
  );
});

describe('numbers that are not finite', () => {
  const kinds = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] as const;

  /** What a result holds that is not finite: NaN, infinities, and null for the rest. */
  const special = (result: Tensor): (number | null)[] =>
    numbersOf(result).map((value) => (Number.isFinite(value) ? null : value));

  /** The paths whose result has others than the direct sum. */
  async function differing(one: Problem, more: Conv2dOptions): Promise<string[]> {
    const options = { ...one.options, ...more };
    const direct = special(conv2dSync(one.x, one.w, { ...options, backend: 'naive:js' }));
    const paths = [...(await pathsOf(one, 'fast', 'winograd')), ...(await pathsOf(one, 'fast', 'winograd4'))];
    return paths.filter((backend) => {
      const got = special(conv2dSync(one.x, one.w, { ...options, precision: 'fast', backend }));
      return got.some((value, at) => !Object.is(value, direct[at]));
    });
  }

  it.each(['nchw', 'nhwc'] as const)('are where the direct sum has them, wherever one stands (%s)', async (layout) => {
    for (let at = 0; at < 2 * 6 * 7; at++) {
      const one = problem({ C: 2, H: 6, W: 7, O: 3, layout }, sized(1), sized(1));
      one.x.data[at] = kinds[at % 3]!;
      expect(await differing(one, at % 2 === 0 ? {} : { activation: 'relu' }), `input ${at}`).toEqual([]);
    }
    for (let at = 0; at < 3 * 2 * 9; at++) {
      const one = problem({ C: 2, H: 5, W: 6, O: 3, layout }, sparse, sized(1));
      one.w.data[at] = kinds[at % 3]!;
      const bias = tensor(Float32Array.of(1, kinds[at % 3]!, 2), [3]);
      expect(await differing(one, { bias }), `weight ${at}`).toEqual([]);
    }
  });

  it.each(['nchw', 'nhwc'] as const)('do not come of an overflow that the direct sum has not (%s)', async (layout) => {
    const largest = (2 - 2 ** -23) * 2 ** 127;
    const signs = (count: number) => Float64Array.from({ length: count }, (_, i) => (i % 2 === 0 ? largest : -largest));
    for (const [x, w] of [
      [signs, sized(2 ** -5)],
      [sized(2 ** -5), signs],
    ] as const) {
      const one = problem({ C: 2, H: 6, W: 21, O: 2, layout }, x, w);
      const expected: Expected = conv2dExpected(one.x, one.w, one.options);
      expect(expected.value.every((value) => Math.abs(value) < largest)).toBe(true);
      for (const backend of await pathsOf(one, 'strict', 'winograd')) {
        const result = conv2dSync(one.x, one.w, { ...one.options, backend });
        expectWithin(result, expected, 'conv2d', [one.x, one.w], one.options);
      }
    }
  });
});

describe('the addon', () => {
  it('refuses a convolution that is none for winograd', () => {
    const { variants, runSync } = addon();
    const winograd = variants.findIndex(({ op, dtype, runsHere }) => op === 'winograd2' && dtype === 'f32' && runsHere);
    const call = conv2dCall({ C: 1, H: 5, W: 5, O: 1, KH: 3, KW: 3 }, { strideW: 2 });
    const [x, w, out] = [25, 9, 6].map((count) => new Float32Array(count)) as [
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    expect(() => runSync(winograd, 1, shapeNumbers(call), x, w, undefined, out)).toThrow(TypeError);
  });
});
