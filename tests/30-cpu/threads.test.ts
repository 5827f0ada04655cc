import { describe, expect, it } from 'vitest';
import type { Call, DType, Operands } from '../../backends/contract.ts';
import { addon, conv2dCall, matmulCall, shapeNumbers } from '../support/native.ts';
import { values } from '../support/random.ts';
import { elements } from '../support/tensors.ts';

const { variants, runSync } = addon();

/** The result's elements, as their bits. */
function bits(
  variant: number,
  threads: number,
  call: Call,
  { inputs, bias, out }: Operands,
): Uint32Array | Uint16Array {
  const words = out instanceof Uint16Array ? out : new Uint32Array(out.buffer);
  words.fill(NAN);
  runSync(variant, threads, shapeNumbers(call), inputs[0]!, inputs[1], bias, out);
  return words.slice();
}

/** A NaN that no kernel makes, of 32 bits and in its last 16. */
const NAN = 0x7fff_7fff;

const f32 = (length: number, seed: number): Float32Array => Float32Array.from(values(length, seed));

function stored({ inputs, bias, out }: Operands, dtype: DType): Operands {
  return {
    inputs: inputs.map((input) => elements(input, dtype)),
    bias: bias && elements(bias, dtype),
    out: elements({ length: out.length }, dtype),
  };
}

const cases: readonly [string, Call, Operands][] = [
  [
    'a product of several k blocks and tiles',
    matmulCall(211, 333, 1001, { bias: 'row', activation: 'relu' }),
    { inputs: [f32(211 * 1001, 1), f32(1001 * 333, 2)], bias: f32(333, 3), out: new Float32Array(211 * 333) },
  ],
  [
    'a few rows by many columns',
    matmulCall(5, 2000, 700),
    { inputs: [f32(5 * 700, 4), f32(700 * 2000, 5)], out: new Float32Array(10_000) },
  ],
  [
    'many rows by a few columns',
    matmulCall(2000, 7, 700),
    { inputs: [f32(2000 * 700, 6), f32(700 * 7, 7)], out: new Float32Array(14_000) },
  ],
  [
    'a batch of small products',
    matmulCall(33, 35, 401, { batch: [40], batchStridesA: [33 * 401], batchStridesB: [401 * 35] }),
    { inputs: [f32(40 * 33 * 401, 8), f32(40 * 401 * 35, 9)], out: new Float32Array(40 * 33 * 35) },
  ],
  [
    'a convolution',
    conv2dCall({ C: 48, H: 40, W: 41, O: 37, KH: 3, KW: 3 }, { padTop: 1, padLeft: 1 }),
    { inputs: [f32(48 * 40 * 41, 10), f32(37 * 48 * 9, 11)], out: new Float32Array(37 * 39 * 40) },
  ],
  [
    'a convolution of a small image of many channels',
    conv2dCall({ C: 260, H: 7, W: 7, O: 210, KH: 3, KW: 3 }, { padTop: 1, padLeft: 1, layout: 'nhwc' }),
    { inputs: [f32(260 * 49, 12), f32(210 * 260 * 9, 13)], out: new Float32Array(210 * 36) },
  ],
  [
    'a depthwise convolution',
    conv2dCall({ C: 40, H: 61, W: 50, O: 40, KH: 5, KW: 5 }, { groups: 40, padTop: 2, padLeft: 2 }),
    { inputs: [f32(40 * 61 * 50, 14), f32(40 * 25, 15)], out: new Float32Array(40 * 59 * 48) },
  ],
];

describe.each(cases)('%s', (_, call, numbers) => {
  const direct = call.op === 'conv2d' && call.groups > 1 ? ['depthwise'] : ['winograd2', 'winograd4'];
  const ops = call.op === 'conv2d' ? ['gemm', ...direct] : ['gemm'];
  const computing = variants.flatMap(({ op, dtype, runsHere, name }, index) =>
    ops.includes(op) && dtype !== 'f64' && runsHere ? [{ name, dtype, index }] : [],
  );

  it.each(computing)('has the same bits on 1, 2, 3 and 7 threads and in a second run: $name', ({ index, dtype }) => {
    const operands = stored(numbers, dtype);
    const alone = bits(index, 1, call, operands);
    expect(alone.includes(NAN) || alone.includes(NAN & 0xffff)).toBe(false);
    for (const threads of [2, 3, 7, 1]) {
      const again = bits(index, threads, call, operands);
      expect(
        again.findIndex((word, at) => word !== alone[at]),
        `${threads} threads`,
      ).toBe(-1);
    }
  });
});
