/** How large a tile should be: about a second of work, within a memory bound. */
import { BYTES_PER_ELEMENT, type Call, type Conv2dCall } from '../../backends/contract.ts';
import { elements } from './box.ts';
import { tileCall } from './operands.ts';
import { planCall, viewOf } from './plan.ts';
import type { TileSize } from './types.ts';

/** Long enough that a durable checkpoint is small beside it, short enough that losing one is no loss. */
const TARGET_SECONDS = 0.7;
/** Rows of an image under one tile before its channels are cut: thinner strips read mostly halo. */
const MIN_STRIP = 8;

type Axis = keyof TileSize;
type Extents = Readonly<Partial<Record<Axis, number>>>;

/**
 * Resolves the tile size of a call that is expected to take `seconds` as a whole. What the spec gives stays; the rest is
 * halved from powers of two above the output's extents, so that small changes of the estimate rarely change the plan.
 */
export function chooseTile(call: Call, given: TileSize, seconds: number, memoryBytes: number): TileSize {
  const target = Math.max(1, (TARGET_SECONDS / seconds) * elements(viewOf(call)));
  let size: Extents = { ...whole(call), ...given };
  for (;;) {
    const axis = nextToHalve(call, size, given);
    if (axis === undefined || (tileElements(call, size) <= target && footprint(call, size) <= memoryBytes)) return size;
    size = { ...size, [axis]: halved(call, axis, size[axis] as number) };
  }
}

/** Bytes that working on such tiles holds: the inputs of this tile and of the next, and its output. */
export function footprint(call: Call, size: TileSize): number {
  const plan = planCall(call, size);
  if (plan.tiles === 0) return 0;
  const { inputs } = tileCall(call, plan.tile(0));
  const read = inputs.reduce((sum, { shape }) => sum + elements(shape), 0);
  return BYTES_PER_ELEMENT[call.dtype] * (2 * read + elements(plan.block));
}

function whole(call: Call): Extents {
  const above = (extent: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, extent)));
  if (call.op === 'matmul') return { rows: above(call.M), cols: above(call.N) };
  if (call.op === 'relu') return { elements: above(call.length) };
  return { images: above(call.batch), channels: Math.max(1, call.O), rows: above(call.OH) };
}

function tileElements(call: Call, size: Extents): number {
  const extents = Object.values(size);
  return call.op === 'conv2d' ? elements(extents) * call.OW : elements(extents);
}

/** The axis whose halving costs least: the longer side of a matmul block; of a convolution images, then rows, then channels. */
function nextToHalve(call: Call, size: Extents, given: TileSize): Axis | undefined {
  const free = (Object.keys(size) as Axis[]).filter((axis) => given[axis] === undefined && (size[axis] as number) > 1);
  if (call.op === 'matmul') return free.toSorted((p, q) => (size[q] as number) - (size[p] as number))[0];
  const thin = (size.rows ?? 1) <= MIN_STRIP;
  const order: readonly Axis[] = thin ? ['images', 'channels', 'rows'] : ['images', 'rows', 'channels'];
  return call.op === 'relu' ? free[0] : order.find((axis) => free.includes(axis));
}

function halved(call: Call, axis: Axis, extent: number): number {
  return axis === 'channels' && call.op === 'conv2d' ? fewerChannels(call, extent) : extent / 2;
}

/** About half as many channels, in whole groups while there are several, else by a divisor of one group's. */
function fewerChannels(call: Conv2dCall, channels: number): number {
  const perGroup = call.O / call.groups;
  if (channels > perGroup) return Math.ceil(channels / perGroup / 2) * perGroup;
  let half = Math.floor(channels / 2);
  while (perGroup % half !== 0) half -= 1;
  return half;
}
