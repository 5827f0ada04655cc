import { DhpError } from '../errors.ts';
import type { BlobRef, CheckpointRecord, Usage } from '../types.ts';
import { canonical, sha256 } from './canonical.ts';

export const SHA256_HEX: RegExp = /^[0-9a-f]{64}$/;

/** A checkpoint record with its hash: the SHA-256 of its canonical JSON without it. Throws `E_CANONICAL`. */
export function sealRecord(record: Omit<CheckpointRecord, 'hash'>): CheckpointRecord {
  return { ...record, hash: sha256(canonical(record)) };
}

/** Throws `E_ARGUMENT` for a record of the wrong shape and `E_CHECKPOINT_CORRUPT` for one that its hash does not fit. */
export function checkRecord(record: CheckpointRecord): void {
  checkShape(record);
  const { hash, ...body } = record;
  const actual = sha256(canonical(body));
  if (actual === hash) return;
  throw new DhpError('E_CHECKPOINT_CORRUPT', `checkpoint ${record.seq} hashes to ${actual}, it says ${String(hash)}`, {
    id: record.id,
    seq: record.seq,
  });
}

/** A record as stored, or in one sentence what is wrong with it. */
export function readRecord(
  id: string,
  row: { readonly seq: number; readonly hash: string; readonly text: unknown },
): CheckpointRecord | string {
  try {
    const record = JSON.parse(String(row.text)) as CheckpointRecord;
    checkRecord(record);
    if (record.id !== id || record.seq !== row.seq) return `it is record ${record.seq} of ${record.id}`;
    return record.hash === row.hash ? record : `its hash is ${record.hash}, ${row.hash} was acknowledged`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function checkShape(record: CheckpointRecord): void {
  const fits =
    record?.t === 'ckpt' &&
    record.v === 1 &&
    Number.isSafeInteger(record.seq) &&
    record.seq > 0 &&
    /^\d+$/.test(record.fence) &&
    Number.isSafeInteger(record.attempt) &&
    Array.isArray(record.blobs) &&
    record.blobs.every(isBlobRef) &&
    isUsage(record.usage);
  if (fits) return;
  throw new DhpError(
    'E_ARGUMENT',
    'a checkpoint record needs t "ckpt", v 1, seq from 1, a decimal fence, an attempt, blobs of {name, sha256, bytes} and usage of non-negative {steps, cost, wall_ms}',
  );
}

function isBlobRef(ref: BlobRef): boolean {
  return typeof ref?.name === 'string' && SHA256_HEX.test(ref.sha256) && Number.isSafeInteger(ref.bytes);
}

function isUsage(usage: Usage): boolean {
  return [usage?.steps, usage?.cost, usage?.wall_ms].every((it) => Number.isFinite(it) && (it as number) >= 0);
}
