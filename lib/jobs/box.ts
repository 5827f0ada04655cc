/** Blocks of dense row-major arrays, seen as contiguous runs of elements. */
import type { Box } from './types.ts';

export function elements(extents: readonly number[]): number {
  return extents.reduce((product, extent) => product * extent, 1);
}

export function sameBox(a: Box, b: Box): boolean {
  const equal = (p: readonly number[], q: readonly number[]): boolean =>
    p.length === q.length && p.every((value, i) => value === q[i]);
  return equal(a.start, b.start) && equal(a.extent, b.extent);
}

/** Length of each contiguous run of a box, in elements: its trailing axes as far as they are taken whole, and one more. */
export function runLength(shape: readonly number[], box: Box): number {
  let length = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    length *= box.extent[axis] as number;
    if (box.extent[axis] !== shape[axis]) break;
  }
  return length;
}

/** Element offsets in the array of the box's runs, ascending; in the box itself the runs follow each other. */
export function* runOffsets(shape: readonly number[], box: Box): Generator<number> {
  const length = runLength(shape, box);
  const count = length === 0 ? 0 : elements(box.extent) / length;
  const strides = shape.map((_, axis) => elements(shape.slice(axis + 1)));
  const index = box.extent.map(() => 0);
  let inner = 1;
  let outer = shape.length;
  while (outer > 0 && inner < length) inner *= box.extent[--outer] as number;
  for (let run = 0; run < count; run++) {
    yield strides.reduce(
      (sum, stride, axis) => sum + stride * ((box.start[axis] as number) + (index[axis] as number)),
      0,
    );
    for (let axis = outer - 1; axis >= 0; axis--) {
      index[axis] = (index[axis] as number) + 1;
      if ((index[axis] as number) < (box.extent[axis] as number)) break;
      index[axis] = 0;
    }
  }
}
