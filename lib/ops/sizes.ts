/** Sizes as exact integers: a product that a double cannot hold exactly is `E_LIMIT`, never a wrapped number. */
import { BYTES_PER_ELEMENT, type DType, UhopError } from '../../backends/contract.ts';
import { extentsOf, type Shape, show } from './arguments.ts';

/** A copy of `shape`, every extent a non-negative exact integer. */
export function checkShape(shape: unknown, what: string): Shape {
  const extents = extentsOf(shape);
  if (extents) return extents;
  throw new UhopError('E_SHAPE', `${what}: a shape is an array of non-negative integers, got ${show(shape)}`);
}

/** How many elements a shape holds. */
export function sizeOf(shape: Shape): number {
  return times(shape, 1) ?? refuse(shape, 'elements');
}

/** Bytes of a dense tensor. */
export function byteLength(shape: Shape, dtype: DType): number {
  return times(shape, BYTES_PER_ELEMENT[dtype]) ?? refuse(shape, `${dtype} elements, in bytes,`);
}

function times(shape: Shape, unit: number): number | undefined {
  let product = unit;
  for (const extent of shape) product *= extent;
  if (product <= Number.MAX_SAFE_INTEGER) return product;
  return shape.includes(0) ? 0 : undefined;
}

function refuse(shape: Shape, what: string): never {
  throw new UhopError('E_LIMIT', `[${shape.join(', ')}] ${what} are more than 2^53 - 1`, { shape });
}
