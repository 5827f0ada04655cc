/**
 * Who owns the memory of a call. A path that computes inside the call works on the user's arrays. Any other gets
 * copies of the inputs, made before the call returns, and an output of its own that is copied to the user's when it is
 * whole; so nothing the user does to a buffer meanwhile reaches the computation.
 */
import { type Call, type Operands, type TensorData, UhopError } from '../../backends/contract.ts';
import type { Bound } from '../ops/bind.ts';
import { bufferOf, byteLengthOf, byteOffsetOf, isResizable, isShared, lengthOf } from '../ops/typed-arrays.ts';
import { allocate, copyOf } from '../tensor.ts';

/** The user's own arrays, with an output of its own only where the user's overlaps an input. */
export function inPlace(bound: Bound): Operands {
  const { call, inputs, bias, out, weight } = bound;
  const reads = bias ? [...inputs, bias] : inputs;
  const free = out !== undefined && reads.every((read) => !overlaps(read, out) || isReluInPlace(call, read, out));
  return { inputs, bias, weight, out: free ? out : allocate(call.outShape, call.dtype).data };
}

/**
 * Arrays that nobody else can reach. With `borrow`, inputs in shared memory stay where they are; others are copied all the
 * same, because a buffer that is transferred away may be freed under a running kernel, whatever was promised. A prepacked
 * input stays as well, since nobody can reach it.
 */
export function snapshot(bound: Bound, borrow: boolean): Operands {
  const { call, inputs, bias, weight } = bound;
  const stays = (data: TensorData): boolean =>
    data === weight?.data || (borrow && isShared(data) && !isResizable(data));
  const keep = (data: TensorData): TensorData => (stays(data) ? data : copyOf(data, call.dtype));
  return {
    inputs: inputs.map(keep),
    bias: bias && keep(bias),
    weight,
    out: allocate(call.outShape, call.dtype).data,
  };
}

/** The array that holds the answer for the user, filled if it is not the one that was computed into. */
export function deliver(bound: Bound, computed: TensorData): TensorData {
  const { call, out } = bound;
  if (out === undefined || out === computed) return computed;
  if (lengthOf(out) < computed.length) {
    const message = `${call.op}: out was transferred away or resized below its shape while the call ran`;
    throw new UhopError('E_DETACHED', message);
  }
  Float32Array.prototype.set.call(out, computed);
  return out;
}

function isReluInPlace(call: Call, read: TensorData, out: TensorData): boolean {
  return call.op === 'relu' && bufferOf(read) === bufferOf(out) && byteOffsetOf(read) === byteOffsetOf(out);
}

/** Two views of different shared buffers may be of the same memory, so they count as overlapping. */
function overlaps(read: TensorData, out: TensorData): boolean {
  const [readBytes, outBytes] = [byteLengthOf(read), byteLengthOf(out)];
  if (readBytes === 0 || outBytes === 0) return false;
  if (bufferOf(read) !== bufferOf(out)) return isShared(read) && isShared(out);
  const [readFrom, outFrom] = [byteOffsetOf(read), byteOffsetOf(out)];
  return readFrom < outFrom + outBytes && outFrom < readFrom + readBytes;
}
