/** Sizes as exact integers: a product that a double cannot hold exactly is `E_LIMIT`, never a wrapped number. */
import { BYTES_PER_ELEMENT, type DType, UhopError } from '../../backends/contract.ts';
import { isExtent, type Shape, show } from './arguments.ts';

/** A copy of `shape`, every extent a non-negative exact integer. */
export function checkShape(shape: unknown, what: string): Shape {
  if (Array.isArray(shape) && shape.every((extent) => isExtent(extent))) return [...(shape as number[])];
  throw new UhopError('E_SHAPE', `${what}: a shape is an array of non-negative integers, got ${show(shape)}`);
}

/** How many elements a shape holds. */
export function sizeOf(shape: Shape): number {
  return exact(shape, `a shape of [${shape.join(', ')}] elements`);
}

/** Bytes of a dense tensor. */
export function byteLength(shape: Shape, dtype: DType): number {
  return exact([...shape, BYTES_PER_ELEMENT[dtype]], `a tensor of [${shape.join(', ')}] ${dtype}`);
}

function exact(factors: Shape, what: string): number {
  if (factors.includes(0)) return 0;
  const product = factors.reduce((whole, factor) => whole * factor, 1);
  if (product <= Number.MAX_SAFE_INTEGER) return product;
  throw new UhopError('E_LIMIT', `${what} is larger than 2^53 - 1 bytes or elements`, { factors });
}
