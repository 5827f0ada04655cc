import { BYTES_PER_ELEMENT, type Call } from '../../backends/contract.ts';
import { sizeOf } from './sizes.ts';

/** Terms of each sum: K, or the taps of one output of a convolution; 1 for relu. */
export function depth(call: Call): number {
  if (call.op === 'matmul') return call.K;
  if (call.op === 'conv2d') return (call.C / call.groups) * call.KH * call.KW;
  return 1;
}

/** Floating-point operations: two per term of each sum, one per bias or activation of an element. */
export function flops(call: Call): number {
  const elements = sizeOf(call.outShape);
  if (call.op === 'relu') return elements;
  const bias = call.bias === 'none' || call.bias === false ? 0 : 1;
  const activation = call.activation === 'relu' ? 1 : 0;
  return elements * (2 * depth(call) + bias + activation);
}

/** Bytes that must be read and written once each: inputs, bias and result, every repeated operand counted once. */
export function traffic(call: Call): number {
  return BYTES_PER_ELEMENT[call.dtype] * (sizeOf(call.outShape) + inputElements(call));
}

function inputElements(call: Call): number {
  if (call.op === 'relu') return call.length;
  if (call.op === 'conv2d') {
    const weights = call.O * depth(call);
    return call.batch * call.C * call.H * call.W + weights + (call.bias ? call.O : 0);
  }
  const items = (strides: readonly number[]): number =>
    call.batch.reduce((count, extent, axis) => (strides[axis] === 0 ? count : count * extent), 1);
  const bias = { none: 0, scalar: 1, row: call.N }[call.bias];
  return items(call.batchStridesA) * call.M * call.K + items(call.batchStridesB) * call.K * call.N + bias;
}
