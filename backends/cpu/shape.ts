/** A call as the numbers that the addon reads; the order is that of native/binding/work.cc. */
import type { Call, Conv2dCall, MatmulCall } from '../contract.ts';

const OP = { matmul: 0, conv2d: 1, relu: 2 } as const;
const PREPACK = 4;
const BIAS = { none: 0, row: 1, scalar: 2 } as const;

function matmulNumbers(call: MatmulCall): number[] {
  const { M, N, K, transposeA, transposeB, bias, activation, batch, batchStridesA, batchStridesB } = call;
  const numbers = [OP.matmul, M, N, K, Number(transposeA), Number(transposeB), BIAS[bias]];
  numbers.push(Number(activation === 'relu'), batch.length);
  for (const [axis, extent] of batch.entries()) numbers.push(extent, batchStridesA[axis]!, batchStridesB[axis]!);
  return numbers;
}

function conv2dNumbers(call: Conv2dCall): number[] {
  const { batch, C, H, W, O, KH, KW, OH, OW, strideH, strideW, dilationH, dilationW, padTop, padLeft } = call;
  const extents = [batch, C, H, W, O, KH, KW, OH, OW, strideH, strideW, dilationH, dilationW, padTop, padLeft];
  const flags = [call.layout === 'nhwc', call.bias, call.activation === 'relu'].map(Number);
  return [OP.conv2d, ...extents, call.groups, ...flags];
}

// The addon has read the numbers when its function returns, so one buffer serves every call.
const buffer = new Float64Array(64);

/** Valid until the next call of this function. */
export function shapeNumbers(call: Call): Float64Array {
  if (call.op === 'relu') {
    buffer[0] = OP.relu;
    buffer[1] = call.length;
    return buffer;
  }
  const numbers = call.op === 'matmul' ? matmulNumbers(call) : conv2dNumbers(call);
  if (numbers.length > buffer.length) return Float64Array.from(numbers);
  buffer.set(numbers);
  return buffer;
}

/** The call that packs the weight of another. */
export function prepackNumbers(call: Call): Float64Array {
  return Float64Array.of(PREPACK, ...shapeNumbers(call));
}
