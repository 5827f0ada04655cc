/** The cutting of an output into tiles: a pure function of the stored job, so that every host derives the same one. */
import type { Call, Conv2dCall } from '../../backends/contract.ts';
import { elements } from './box.ts';
import { describeJob } from './call.ts';
import { JobError } from './errors.ts';
import type { JobDType, JobInputs, Tile, TilePlan, TileSize } from './types.ts';

/** A chain of more checkpoints than this is slower to walk than the work it saves. */
const MAX_TILES = 1_000_000;

/** The tiles of a stored job. */
export function planTiles(inputs: JobInputs): TilePlan {
  return planCall(describeJob(inputs.op, inputs.files, inputs.attrs).call, inputs.tile);
}

/** The tiles of a call for resolved tile sizes; `E_SPEC` when these cannot be cut. */
export function planCall(call: Call, size: TileSize): TilePlan {
  const view = viewOf(call);
  const block = blockOf(call, size).map((extent, axis) => Math.min(extent, Math.max(1, view[axis] as number)));
  const grid = view.map((extent, axis) => Math.ceil(extent / (block[axis] as number)));
  const tiles = elements(grid);
  if (tiles > MAX_TILES) {
    throw new JobError(
      'E_SPEC',
      `/tile of the job spec cuts the output into ${tiles} tiles, expected at most ${MAX_TILES}`,
    );
  }
  return {
    op: call.op,
    dtype: call.dtype as JobDType,
    outShape: call.outShape,
    view,
    block,
    grid,
    tiles,
    tile: (index) => tileAt(index, view, block, grid),
  };
}

/** The output as tiles see it: matmul [batch, M, N], conv2d as its layout has it, relu [elements]. */
export function viewOf(call: Call): readonly number[] {
  if (call.op === 'matmul') return [elements(call.batch), call.M, call.N];
  if (call.op === 'relu') return [call.length];
  return call.layout === 'nchw' ? [call.batch, call.O, call.OH, call.OW] : [call.batch, call.OH, call.OW, call.O];
}

function blockOf(call: Call, size: TileSize): readonly number[] {
  const of = (extent: number | undefined): number => extent ?? Number.MAX_SAFE_INTEGER;
  if (call.op === 'matmul') return [1, of(size.rows), of(size.cols)];
  if (call.op === 'relu') return [of(size.elements)];
  assertWholeGroups(call, of(size.channels));
  return call.layout === 'nchw'
    ? [of(size.images), of(size.channels), of(size.rows), of(undefined)]
    : [of(size.images), of(size.rows), of(undefined), of(size.channels)];
}

/** A tile holds whole groups or lies inside one, because the groups of one convolution are all alike. */
function assertWholeGroups(call: Conv2dCall, channels: number): void {
  const perGroup = call.O / call.groups;
  if (channels >= call.O || channels % perGroup === 0 || perGroup % channels === 0) return;
  throw new JobError(
    'E_SPEC',
    `/tile/channels of the job spec: got ${channels}, expected a divisor or a multiple of ${perGroup}, the output channels of one group`,
    { path: '/tile/channels' },
  );
}

function tileAt(index: number, view: readonly number[], block: readonly number[], grid: readonly number[]): Tile {
  if (!Number.isInteger(index) || index < 0 || index >= elements(grid)) {
    throw new RangeError(`tile ${index} of ${elements(grid)}`);
  }
  let rest = index;
  const place = grid.toReversed().map((count) => {
    const at = rest % count;
    rest = Math.floor(rest / count);
    return at;
  });
  const start = place.toReversed().map((at, axis) => at * (block[axis] as number));
  const extent = start.map((from, axis) => Math.min(block[axis] as number, (view[axis] as number) - from));
  return { index, out: { start, extent } };
}
