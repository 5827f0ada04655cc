import { DhpError } from '../errors.ts';
import type { CheckpointRecord, Json, Store, Token } from '../types.ts';

/** The newest checkpoint that can be gone on from. */
export interface Restored {
  readonly record: CheckpointRecord;
  readonly state: Json;
  /** The bytes of its blobs, by name; each was hashed again when it was read. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/** All checkpoints that can be gone on from. */
export interface RestoredChain {
  /** The chain, from its first record. */
  readonly records: readonly CheckpointRecord[];
  /** Good records that stood behind a damaged one and went out of the chain with it. Their blobs are unnamed now. */
  readonly cutOff: readonly CheckpointRecord[];
}

const BAD_CHECKPOINT: ReadonlySet<string> = new Set(['E_BLOB_MISSING', 'E_BLOB_CORRUPT', 'E_CHECKPOINT_CORRUPT']);

async function readBlobs(store: Store, record: CheckpointRecord): Promise<Map<string, Uint8Array>> {
  const blobs = new Map<string, Uint8Array>();
  for (const { name, sha256 } of record.blobs) blobs.set(name, await store.blobs.get(sha256));
  return blobs;
}

/**
 * Reads the newest good checkpoint. One that is damaged, or whose blobs are, is quarantined and the one before it tried, so
 * that no later attempt stumbles over it again; every step back removes one checkpoint, which bounds the walk.
 */
export async function restore(store: Store, token: Token): Promise<Restored | null> {
  for (;;) {
    const record = await store.lastCheckpoint(token.id);
    if (record === null) return null;
    try {
      return { record, state: record.state, blobs: await readBlobs(store, record) };
    } catch (error) {
      if (!(error instanceof DhpError) || !BAD_CHECKPOINT.has(error.code)) throw error;
      await store.quarantine(token, record.seq, error.message);
    }
  }
}

/**
 * Reads the whole chain. At a damaged record it is cut, once for all: the first of them and everything behind it is
 * quarantined. What stood behind the last one is handed back as cut off, for a holder to whom each record is worth something.
 */
export async function restoreChain(store: Store, { id, fence }: Token): Promise<RestoredChain> {
  let damage: DhpError | null = null;
  for (let from = 1; ; ) {
    try {
      const records = await store.checkpoints(id, from);
      if (damage === null) return { records, cutOff: [] };
      await store.quarantine({ id, fence }, damage.details['seq'] as number, damage.message);
      return { records: await store.checkpoints(id), cutOff: records };
    } catch (error) {
      if (!(error instanceof DhpError) || error.code !== 'E_CHECKPOINT_CORRUPT') throw error;
      damage ??= error;
      from = (error.details['seq'] as number) + 1;
    }
  }
}
