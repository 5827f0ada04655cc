import type { ResultTensor, Tensor } from '../../backends/contract.ts';
import { conv2d, matmul, relu } from '../dispatch/index.ts';
import type { LoadedTile } from './loader.ts';
import type { JobOp } from './types.ts';

/** Computes a loaded tile, or the same product of other tensors of its shapes, on the path with this id. */
export function compute(
  op: JobOp,
  { work, inputs, bias }: Omit<LoadedTile, 'tile'>,
  path: string,
  signal: AbortSignal,
): Promise<ResultTensor> {
  const options = { ...work.options, ...(bias && { bias }), backend: path, signal, borrow: true };
  const [first, second] = inputs as readonly [Tensor, Tensor];
  if (op === 'matmul') return matmul(first, second, options);
  return op === 'conv2d' ? conv2d(first, second, options) : relu(first, options);
}

/** The bytes of a result, without copying them. */
export function bytesOf({ data }: Tensor): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
