import { describe, expect, it } from 'vitest';
import { addon } from '../support/native.ts';

/** The addon as somebody calls it who loaded the .node file directly: whatever is passed, the process lives. */
const native = addon() as unknown as Record<'run' | 'runSync' | 'cancel', (...args: unknown[]) => unknown>;
const gemm = addon().variants.findIndex(({ op, dtype, runsHere }) => op === 'gemm' && dtype === 'f32' && runsHere);
const relu = addon().variants.findIndex(({ op, dtype, runsHere }) => op === 'relu' && dtype === 'f32' && runsHere);
const direct = addon().variants.findIndex(
  ({ op, dtype, runsHere }) => op === 'depthwise' && dtype === 'f32' && runsHere,
);

const widen = addon().variants.findIndex(({ op, dtype, runsHere }) => op === 'widen' && dtype === 'f16' && runsHere);

const four = (): Float32Array => Float32Array.of(1, 2, 3, 4);
const shape = (...numbers: number[]): Float64Array => Float64Array.from(numbers);
const product = shape(0, 2, 2, 2, 0, 0, 0, 0, 0);
//                      batch C  H  W  O KH KW OH OW sH sW dH dW pT pL g nhwc bias relu
const conv = shape(1, /**/ 1, 1, 2, 2, 1, 1, 1, 2, 2, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0);
const convWith = (at: number, value: number): Float64Array => conv.with(at, value);

const detached = four();
structuredClone(detached.buffer, { transfer: [detached.buffer as ArrayBuffer] });

const cases: readonly [string, unknown[]][] = [
  ['nothing', []],
  ['a variant that is no number', ['x', 1, product, four(), four(), undefined, four()]],
  ['a variant that is not there', [9999, 1, product, four(), four(), undefined, four()]],
  ['a negative variant', [-1, 1, product, four(), four(), undefined, four()]],
  ['threads that are no number', [gemm, {}, product, four(), four(), undefined, four()]],
  ['a shape that is an array', [gemm, 1, [0, 2, 2, 2], four(), four(), undefined, four()]],
  ['a shape of the wrong kind', [gemm, 1, new Float32Array(9), four(), four(), undefined, four()]],
  ['an empty shape', [gemm, 1, shape(), four(), four(), undefined, four()]],
  ['a shape that ends early', [gemm, 1, shape(0, 2, 2), four(), four(), undefined, four()]],
  ['NaN in a shape', [gemm, 1, product.with(1, Number.NaN), four(), four(), undefined, four()]],
  ['a fraction in a shape', [gemm, 1, product.with(2, 1.5), four(), four(), undefined, four()]],
  ['a negative extent', [gemm, 1, product.with(3, -2), four(), four(), undefined, four()]],
  [
    'extents whose product overflows',
    [gemm, 1, product.with(1, 2 ** 40).with(2, 2 ** 40), four(), four(), undefined, four()],
  ],
  ['a batch longer than the shape', [gemm, 1, product.with(8, 2 ** 40), four(), four(), undefined, four()]],
  [
    'a batch stride beyond the input',
    [gemm, 1, shape(0, 2, 2, 2, 0, 0, 0, 0, 1, 1, 2 ** 52, 0), four(), four(), undefined, new Float32Array(3)],
  ],
  ['an input too short', [gemm, 1, product, new Float32Array(3), four(), undefined, four()]],
  ['an out too short', [gemm, 1, product, four(), four(), undefined, new Float32Array(3)]],
  ['a bias too short', [gemm, 1, product.with(6, 1), four(), four(), new Float32Array(1), four()]],
  ['a missing bias', [gemm, 1, product.with(6, 2), four(), four(), undefined, four()]],
  ['a missing weight', [gemm, 1, product, four(), undefined, undefined, four()]],
  ['inputs of the wrong type', [gemm, 1, product, new Float64Array(4), four(), undefined, four()]],
  ['an out of the wrong type', [gemm, 1, product, four(), four(), undefined, new Int32Array(4)]],
  ['a DataView', [gemm, 1, product, new DataView(new ArrayBuffer(64)), four(), undefined, four()]],
  ['an ArrayBuffer', [gemm, 1, product, new ArrayBuffer(64), four(), undefined, four()]],
  ['a detached input', [gemm, 1, product, detached, four(), undefined, four()]],
  ['relu on a gemm', [gemm, 1, shape(2, 4), four(), undefined, undefined, four()]],
  ['an op that is not there', [gemm, 1, shape(7, 4), four(), undefined, undefined, four()]],
  ['matmul on relu', [relu, 1, product, four(), four(), undefined, four()]],
  ['relu longer than its input', [relu, 1, shape(2, 5), four(), undefined, undefined, new Float32Array(5)]],
  ['relu on a conversion', [widen, 1, shape(2, 4), new Uint16Array(4), undefined, undefined, new Uint16Array(4)]],
  ['a conversion of f32', [widen, 1, shape(3, 4), four(), undefined, undefined, four()]],
  ['a conversion longer than its out', [widen, 1, shape(3, 5), new Uint16Array(5), undefined, undefined, four()]],
  ['a convolution of zero groups', [gemm, 1, convWith(16, 0), four(), four(), undefined, four()]],
  ['channels that do not divide into groups', [gemm, 1, convWith(16, 2), four(), four(), undefined, four()]],
  ['a kernel of height zero', [gemm, 1, convWith(6, 0), four(), four(), undefined, four()]],
  ['a stride of zero', [gemm, 1, convWith(10, 0), four(), four(), undefined, four()]],
  ['a padding beyond every image', [gemm, 1, convWith(14, 2 ** 50), four(), four(), undefined, four()]],
  [
    'taps that overflow over no channels',
    [
      gemm,
      1,
      convWith(2, 0)
        .with(6, 2 ** 32)
        .with(7, 2 ** 32),
      four(),
      four(),
      undefined,
      four(),
    ],
  ],
  ['an output larger than out', [gemm, 1, convWith(8, 9), four(), four(), undefined, four()]],
  ['a batch larger than the image', [gemm, 1, convWith(1, 3), four(), four(), undefined, new Float32Array(12)]],
  ['prepacked of another kind', [gemm, 1, product, four(), four(), undefined, four(), new Float64Array(999)]],
  ['prepacked too short', [gemm, 1, product, four(), four(), undefined, four(), new Float32Array(3)]],
  ['prepacked where no weight is', [relu, 1, Float64Array.of(2, 4), four(), undefined, undefined, four(), four()]],
  ['prepacking into too little', [gemm, 1, Float64Array.of(4, ...product), four(), undefined, undefined, four()]],
  [
    'prepacking by a kernel without panels',
    [relu, 1, Float64Array.of(4, 0, 2, 2, 2, 0, 0, 0, 0, 0), four(), undefined, undefined, four()],
  ],
  [
    'an ordinary convolution on depthwise',
    [direct, 1, convWith(5, 3), four(), four(), undefined, new Float32Array(12).subarray(9)],
  ],
];

describe('misuse of the addon', () => {
  it.each(cases)('%s is a TypeError', (_, args) => {
    expect(() => native.runSync(...args)).toThrow(TypeError);
    while (args.length < 8) args.push(undefined);
    expect(() => native.run(...args, () => {})).toThrow(TypeError);
  });

  it('a missing or wrong callback and a wrong ticket are TypeErrors, an unknown ticket is nothing', () => {
    const call = [gemm, 1, product, four(), four(), undefined, four(), undefined];
    expect(() => native.run(...call)).toThrow(TypeError);
    expect(() => native.run(...call, 7)).toThrow(TypeError);
    expect(() => native.cancel('x')).toThrow(TypeError);
    expect(() => native.cancel(-1)).toThrow(TypeError);
    expect(native.cancel(4_000_000_000)).toBeUndefined();
  });

  it('windows of an image that lie wholly in the padding or beyond it are zeros', () => {
    const out = new Float32Array(4).fill(9);
    native.runSync(gemm, 1, convWith(14, 2 ** 40), four(), four(), undefined, out);
    expect([...out]).toEqual([0, 0, 0, 0]);
  });

  it('accepts views of shared memory at an offset', () => {
    const shared = new Float32Array(new SharedArrayBuffer(24), 4, 4);
    shared.set([1, 2, 3, 4]);
    const out = four();
    native.runSync(gemm, 1, product, shared, shared, undefined, out);
    expect([...out]).toEqual([7, 10, 15, 22]);
  });
});
