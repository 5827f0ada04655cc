import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JobError, parseSpec } from 'uhop';

const matmul = { op: 'matmul', inputs: { a: 'a.npy', b: 'b.npy' }, output: 'c.npy' };
const conv2d = { op: 'conv2d', inputs: { x: 'x.npy', w: 'w.npy' }, output: 'y.npy' };
const relu = { op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy' };

function refusal(spec: unknown): JobError {
  try {
    parseSpec(spec);
  } catch (error) {
    if (error instanceof JobError) return error;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(spec)}`);
}

describe('a job spec', () => {
  it.each([
    matmul,
    { ...matmul, inputs: { ...matmul.inputs, bias: 'bias.npy' }, attrs: { transposeA: true, activation: 'relu' } },
    { ...matmul, tile: { rows: 64 }, verify: 'recompute', numerics: 'exact', nonce: 'again' },
    { ...matmul, budget: { max_attempts: 5, max_wall_ms: null } },
    { ...conv2d, attrs: { stride: [2, 1], padding: [0, 1, 2, 3], dilation: 2, groups: 3, layout: 'nhwc' } },
    { ...conv2d, attrs: { padding: 'same-lower' }, tile: { images: 1, channels: 2, rows: 3 } },
    { ...relu, attrs: {}, tile: { elements: 1000 } },
  ])('is taken as it is: %j', (spec) => {
    expect(parseSpec(spec)).toEqual(spec);
  });

  it.each([
    ['a string', 'matmul', '', /the job spec: got 'matmul', expected an object/],
    ['nothing', undefined, '', /got nothing, expected an object/],
    ['an unknown op', { ...matmul, op: 'gemm' }, '/op', /got 'gemm', expected 'matmul', 'conv2d' or 'relu'/],
    ['an op named like a method', { ...matmul, op: 'toString' }, '/op', /expected 'matmul'/],
    ['a missing input', { ...matmul, inputs: { a: 'a.npy' } }, '/inputs/b', /got nothing, expected a value/],
    ['an input that is no path', { ...matmul, inputs: { a: 'a', b: 7 } }, '/inputs/b', /got 7, expected string/],
    ['an empty path', { ...relu, output: '' }, '/output', /got '', expected it to NOT have fewer than 1/],
    ['a path with a NUL', { ...relu, output: 'a\0b' }, '/output', /expected it to match pattern/],
    ["another op's input", { ...relu, inputs: { x: 'x', w: 'w' } }, '/inputs/w', /expected no keys but x/],
    ['a misspelt key', { ...matmul, out: 'c.npy' }, '/out', /got 'c.npy', expected no keys but op, inputs/],
    ["another op's attribute", { ...matmul, attrs: { stride: 2 } }, '/attrs/stride', /got 2, expected no keys but/],
    ['attributes of relu', { ...relu, attrs: { activation: 'relu' } }, '/attrs/activation', /expected no keys here/],
    ['an activation', { ...matmul, attrs: { activation: 'gelu' } }, '/attrs/activation', /one of \["none","relu"\]/],
    ['a padding word', { ...conv2d, attrs: { padding: 'full' } }, '/attrs/padding', /\(valid\|same\|same-lower\)/],
    ['a negative padding', { ...conv2d, attrs: { padding: [1, 1, 1, -1] } }, '/attrs/padding/3', /got -1, .* >= 0/],
    ['a stride of 0', { ...conv2d, attrs: { stride: 0 } }, '/attrs/stride', /got 0, expected it to be >= 1/],
    ['a tile of 0 rows', { ...matmul, tile: { rows: 0, cols: 1 } }, '/tile/rows', /got 0, expected it to be >= 1/],
    ['half a row', { ...matmul, tile: { rows: 1.5, cols: 1 } }, '/tile/rows', /got 1.5, expected integer/],
    ['a later verification', { ...matmul, verify: 'freivalds' }, '/verify', /'none' or 'recompute': Freivalds/],
    ['no budget at all', { ...matmul, budget: { max_attempts: 0 } }, '/budget/max_attempts', /got 0/],
  ])('with %s is refused, naming the place', (_, spec, path, message) => {
    const error = refusal(spec);
    expect(error.code).toBe('E_SPEC');
    expect(error.details.path).toBe(path);
    expect(error.message).toMatch(message);
  });

  it('of any other shape is refused with E_SPEC and nothing else', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true, withMap: true }),
        (value) => {
          expect(refusal(value).code).toBe('E_SPEC');
        },
      ),
    );
  });
});
