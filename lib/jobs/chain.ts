/** The checkpoint chain as the list of done tiles. */
import { DhpError } from '../dhp/errors.ts';
import type { BlobRef, CheckpointRecord, Json, Store } from '../dhp/types.ts';
import { elements } from './box.ts';
import { ITEM_BYTES } from './npy.ts';
import type { Provenance, TilePlan, TileState } from './types.ts';

/** A tile that need not be computed again. */
export interface DoneTile {
  readonly blob: BlobRef;
  readonly provenance: Provenance;
}

export function blobName(index: number): string {
  return `tile-${index}`;
}

/** Bytes of a tile's blob. */
export function tileBytes(plan: TilePlan, index: number): number {
  return elements(plan.tile(index).out.extent) * ITEM_BYTES[plan.dtype];
}

/** Done tiles by index. A later record of the same tile replaces the earlier; one that does not fit the plan counts for nothing. */
export function doneTiles(records: readonly CheckpointRecord[], plan: TilePlan): Map<number, DoneTile> {
  const done = new Map<number, DoneTile>();
  for (const record of records) {
    const tile = tileOf(record.state);
    if (tile === null || !(tile.index < plan.tiles)) continue;
    const { index, ...provenance } = tile;
    const blob = record.blobs.find(({ name }) => name === blobName(index));
    if (blob?.bytes === tileBytes(plan, index)) done.set(index, { blob, provenance });
  }
  return done;
}

/** The checkpoints from one on; none where a damaged one is among them, which only a holder can cut off. */
export async function readableChain(store: Store, id: string, fromSeq = 1): Promise<readonly CheckpointRecord[]> {
  try {
    return await store.checkpoints(id, fromSeq);
  } catch (error) {
    if (error instanceof DhpError && error.code === 'E_CHECKPOINT_CORRUPT') return [];
    throw error;
  }
}

/** Indices of the plan that are not done, ascending. */
export function* missingTiles(plan: TilePlan, done: ReadonlyMap<number, DoneTile>): Generator<number> {
  for (let index = 0; index < plan.tiles; index++) if (!done.has(index)) yield index;
}

/** The state of the checkpoint that adds tile `index`, which `done` does not hold yet, to those before it and in `done`. */
export function tileState(index: number, provenance: Provenance, done: ReadonlyMap<number, DoneTile>): TileState {
  let next = index + 1;
  while (done.has(next)) next++;
  return { next, done: done.size + 1, tile: { index, ...provenance } };
}

/** What identifies arithmetic: two tiles with the same identity and inputs have the same bits. */
export function identityOf({ path, isa, kernel, version }: Provenance): string {
  return `${path} (${kernel ?? isa ?? 'any instruction set'}, version ${version})`;
}

function tileOf(state: Json): TileState['tile'] | null {
  const tile = (state as { readonly tile?: unknown } | null)?.tile as Partial<TileState['tile']> | undefined;
  if (!Number.isInteger(tile?.index) || typeof tile?.path !== 'string') return null;
  return tile as TileState['tile'];
}
