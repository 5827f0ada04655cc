import { UhopError } from '../../backends/contract.ts';
import type { Shape } from './arguments.ts';

/** NumPy's rule: aligned from the right, equal extents or one of them 1 (a zero goes with 1). */
export function broadcast(left: Shape, right: Shape, what: string): Shape {
  const rank = Math.max(left.length, right.length);
  return Array.from({ length: rank }, (_, axis) => {
    const l = left[axis - (rank - left.length)] ?? 1;
    const r = right[axis - (rank - right.length)] ?? 1;
    if (l === r || r === 1) return l;
    if (l === 1) return r;
    throw new UhopError(
      'E_SHAPE',
      `${what} [${left.join(', ')}] and [${right.join(', ')}] do not broadcast: ${l} meets ${r}, expected equal or 1`,
      { left, right },
    );
  });
}

/** Elements between neighbours along each broadcast axis of an operand whose own axes are `shape`, items of `size`. */
export function broadcastStrides(shape: Shape, batch: Shape, size: number): Shape {
  const strides = batch.map(() => 0);
  let stride = size;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1) strides[axis + batch.length - shape.length] = stride;
    stride *= shape[axis]!;
  }
  return strides;
}
