import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { onEveryPath, type Options } from '../support/paths.ts';
import { values } from '../support/random.ts';
import { conv2dExpected, expectWithin, matmulExpected } from '../support/reference.ts';
import { made, sizeOf } from '../support/tensors.ts';

/** Fixed, so that every run tries the same cases; fast-check prints it with a counterexample. */
const SEED = 20_220_701;
const RUNS = { seed: SEED, numRuns: 150 };

const dtypes = fc.constantFrom('f32', 'f64', 'f16', 'bf16');
const activations = fc.constantFrom('none', 'relu');

const matmuls = fc
  .record({
    dtype: dtypes,
    m: fc.integer({ min: 0, max: 20 }),
    n: fc.integer({ min: 0, max: 40 }),
    k: fc.integer({ min: 0, max: 70 }),
    batch: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
    repeats: fc.array(fc.constantFrom('none', 'a', 'b'), { minLength: 3, maxLength: 3 }),
    dropA: fc.integer({ min: 0, max: 3 }),
    dropB: fc.integer({ min: 0, max: 3 }),
    vectorA: fc.constantFrom(false, false, false, true),
    vectorB: fc.constantFrom(false, false, false, true),
    transposeA: fc.boolean(),
    transposeB: fc.boolean(),
    bias: fc.constantFrom('none', 'row', 'one'),
    activation: activations,
    seed: fc.integer({ min: 1, max: 1e6 }),
  })
  .map((drawn) => {
    const { dtype, m, n, k, seed, activation } = drawn;
    const axes = (name: 'a' | 'b', drop: number): number[] =>
      drawn.batch.map((extent, axis) => (drawn.repeats[axis] === name ? 1 : extent)).slice(drop);
    const transposeA = drawn.transposeA && !drawn.vectorA;
    const transposeB = drawn.transposeB && !drawn.vectorB;
    const a = drawn.vectorA ? [k] : [...axes('a', drawn.dropA), ...(transposeA ? [k, m] : [m, k])];
    const b = drawn.vectorB ? [k] : [...axes('b', drawn.dropB), ...(transposeB ? [n, k] : [k, n])];
    const last = drawn.vectorB ? (drawn.vectorA ? 1 : m) : n;
    const length = { none: 0, one: 1, row: last }[drawn.bias];
    const bias = drawn.bias === 'none' ? undefined : made(values(length, seed + 2), [length], dtype);
    const inputs = [made(values(sizeOf(a), seed), a, dtype), made(values(sizeOf(b), seed + 1), b, dtype)] as const;
    const options: Options = { transposeA, transposeB, bias, activation };
    return { inputs, options };
  });

const convolutions = fc
  .record({
    dtype: dtypes,
    layout: fc.constantFrom('nchw', 'nhwc'),
    batch: fc.integer({ min: 1, max: 2 }),
    groups: fc.integer({ min: 1, max: 4 }),
    channels: fc.integer({ min: 1, max: 5 }),
    filters: fc.integer({ min: 1, max: 5 }),
    kernel: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    stride: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
    dilation: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
    padding: fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4), fc.nat(4)),
    extra: fc.tuple(fc.nat(9), fc.nat(20)),
    bias: fc.boolean(),
    activation: activations,
    seed: fc.integer({ min: 1, max: 1e6 }),
  })
  .map((drawn) => {
    const { dtype, layout, batch, groups, kernel, stride, dilation, padding, activation, seed } = drawn;
    const [top, left, bottom, right] = padding;
    const size = (axis: 0 | 1, pads: number): number =>
      Math.max((kernel[axis] - 1) * dilation[axis] + 1 - pads, 1) + drawn.extra[axis];
    const [H, W] = [size(0, top + bottom), size(1, left + right)];
    const [C, O] = [groups * drawn.channels, groups * drawn.filters];
    const x = layout === 'nchw' ? [batch, C, H, W] : [batch, H, W, C];
    const w = layout === 'nchw' ? [O, drawn.channels, ...kernel] : [...kernel, drawn.channels, O];
    const bias = drawn.bias ? made(values(O, seed + 2), [O], dtype) : undefined;
    const inputs = [made(values(sizeOf(x), seed), x, dtype), made(values(sizeOf(w), seed + 1), w, dtype)] as const;
    return { inputs, options: { layout, groups, stride, dilation, padding, bias, activation } };
  });

describe(`random calls (seed ${SEED}) lie within tolerance of an f64 reference on every path`, () => {
  it('matmul: broadcasting, vectors, transposes, bias, relu, zero sizes', async () => {
    expect.hasAssertions();
    await fc.assert(
      fc.asyncProperty(matmuls, async ({ inputs, options }) => {
        const expected = matmulExpected(...inputs, options);
        await onEveryPath('matmul', inputs, options, (result) =>
          expectWithin(result, expected, 'matmul', inputs, options),
        );
      }),
      RUNS,
    );
  });

  it('conv2d: groups, dilation, stride, padding, layouts, bias, relu', async () => {
    expect.hasAssertions();
    await fc.assert(
      fc.asyncProperty(convolutions, async ({ inputs, options }) => {
        const expected = conv2dExpected(...inputs, options);
        await onEveryPath('conv2d', inputs, options, (result) =>
          expectWithin(result, expected, 'conv2d', inputs, options),
        );
      }),
      RUNS,
    );
  });
});
