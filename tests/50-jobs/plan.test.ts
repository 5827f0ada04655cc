import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JobInputs, planTiles } from 'uhop';

function job(op: JobInputs['op'], shapes: Record<string, readonly number[]>, more: Partial<JobInputs> = {}): JobInputs {
  const files = Object.entries(shapes).map(([name, shape]) => [
    name,
    { path: `/${name}.npy`, sha256: '0'.repeat(64), bytes: 0, dtype: 'f32' as const, shape },
  ]);
  return {
    v: 1,
    op,
    files: Object.fromEntries(files),
    attrs: {},
    output: '/out.npy',
    tile: {},
    verify: 'none',
    numerics: 'tolerant',
    ...more,
  };
}

const upTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });

const matmuls = fc
  .record({ batch: upTo(3), M: upTo(20), N: upTo(20), rows: upTo(25), cols: upTo(25) })
  .map(({ batch, M, N, rows, cols }) =>
    job('matmul', { a: [batch, M, 3], b: [batch, 3, N] }, { tile: { rows, cols } }),
  );

const convs = fc
  .record({
    layout: fc.constantFrom('nchw' as const, 'nhwc' as const),
    batch: upTo(3),
    groups: upTo(3),
    perGroup: upTo(3),
    size: fc.integer({ min: 3, max: 12 }),
    images: upTo(4),
    rows: upTo(14),
    wholeGroups: upTo(4),
  })
  .map(({ layout, batch, groups, perGroup, size, images, rows, wholeGroups }) => {
    const [C, O] = [groups * 2, groups * perGroup];
    const shapes =
      layout === 'nchw'
        ? { x: [batch, C, size, size], w: [O, 2, 3, 3] }
        : { x: [batch, size, size, C], w: [3, 3, 2, O] };
    const tile = { images, rows, channels: wholeGroups * perGroup };
    return job('conv2d', shapes, { attrs: { layout, groups, padding: 'same' }, tile });
  });

const relus = fc
  .record({ shape: fc.array(upTo(9), { maxLength: 4 }), elements: upTo(50) })
  .map(({ shape, elements }) => job('relu', { x: shape }, { tile: { elements } }));

/** How often each element of the output is covered, by walking every index of every tile. */
function coverage(inputs: JobInputs): Uint8Array {
  const { view, tiles, tile } = planTiles(inputs);
  const counts = new Uint8Array(view.reduce((product, extent) => product * extent, 1));
  for (let index = 0; index < tiles; index++) {
    const { start, extent } = tile(index).out;
    const visit = (axis: number, flat: number): void => {
      if (axis === view.length) counts[flat] = (counts[flat] as number) + 1;
      else for (let i = 0; i < extent[axis]!; i++) visit(axis + 1, flat * view[axis]! + start[axis]! + i);
    };
    visit(0, 0);
  }
  return counts;
}

describe('a tile plan', () => {
  it('has every element of the output in exactly one tile', () => {
    fc.assert(
      fc.property(fc.oneof(matmuls, convs, relus), (inputs) => {
        expect(coverage(inputs).every((count) => count === 1)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('follows from the stored job alone', () => {
    fc.assert(
      fc.property(fc.oneof(matmuls, convs, relus), (inputs) => {
        const list = (stored: JobInputs): unknown => {
          const { tile, ...plan } = planTiles(stored);
          return [plan, Array.from({ length: plan.tiles }, (_, index) => tile(index))];
        };
        expect(list(JSON.parse(JSON.stringify(inputs)) as JobInputs)).toEqual(list(inputs));
      }),
    );
  });

  it('goes along the rows of the grid', () => {
    const { tile, tiles, grid } = planTiles(job('matmul', { a: [5, 3], b: [3, 7] }, { tile: { rows: 2, cols: 4 } }));
    expect([grid, tiles]).toEqual([[1, 3, 2], 6]);
    expect(Array.from({ length: tiles }, (_, index) => tile(index).out.start)).toEqual([
      [0, 0, 0],
      [0, 0, 4],
      [0, 2, 0],
      [0, 2, 4],
      [0, 4, 0],
      [0, 4, 4],
    ]);
    expect(tile(5).out.extent).toEqual([1, 1, 3]);
    expect(() => tile(6)).toThrow(RangeError);
  });

  it.each([
    ['no rows', { a: [0, 3], b: [3, 4] }, [0, 4]],
    ['no columns', { a: [2, 3], b: [3, 0] }, [2, 0]],
    ['no items', { a: [0, 2, 3], b: [3, 4] }, [0, 2, 4]],
  ])('has no tiles for an output with %s', (_, shapes, outShape) => {
    expect(planTiles(job('matmul', shapes))).toMatchObject({ tiles: 0, outShape });
  });

  it('refuses channels that would cut a group unevenly', () => {
    const inputs = job(
      'conv2d',
      { x: [1, 4, 5, 5], w: [12, 2, 3, 3] },
      { attrs: { groups: 2 }, tile: { channels: 4, images: 1, rows: 1 } },
    );
    expect(() => planTiles(inputs)).toThrow(
      /\/tile\/channels of the job spec: got 4, expected a divisor or a multiple of 6/,
    );
  });

  it('refuses more tiles than a chain can sensibly hold', () => {
    const inputs = job('matmul', { a: [100_000, 1], b: [1, 100_000] }, { tile: { rows: 1, cols: 1 } });
    expect(() => planTiles(inputs)).toThrow(/10000000000 tiles, expected at most 1000000/);
  });
});
