import { DhpError } from '../errors.ts';
import type { CheckpointRecord, Json, Store, Token } from '../types.ts';

/** The newest checkpoint that can be gone on from. */
export interface Restored {
  readonly record: CheckpointRecord;
  readonly state: Json;
  /** The bytes of its blobs, by name; each was hashed again when it was read. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
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
