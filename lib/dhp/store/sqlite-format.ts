/** Between a handoff and its rows in SQLite. A column that cannot be read is `E_STORE`, an altered intent `E_ID_MISMATCH`. */
import { DhpError } from '../errors.ts';
import { wallLeft } from '../protocol/budget.ts';
import { readIntent } from '../protocol/ids.ts';
import type { EventRecord, Grant, Handoff, Holder, Lease, LeaseRow, State, Usage } from '../types.ts';
import type { CheckpointRow } from './rows.ts';

export type Row = Record<string, unknown>;

/** The columns of `handoffs` besides the id. */
export const COLUMNS: readonly string[] = [
  'state',
  'reason',
  'fence',
  'attempts',
  'releases',
  'attempts_without_progress',
  'granted',
  'seq',
  'head',
  'usage',
  'wall_left_ms',
  'holder',
  'lease',
  'counter',
  'result',
  'result_hash',
  'error',
  'created_at',
  'updated_at',
  'claimed_at',
];

export function toRow(handoff: Handoff): Row {
  return {
    state: handoff.state,
    reason: handoff.reason,
    fence: handoff.fence,
    attempts: handoff.attempts,
    releases: handoff.releases,
    attempts_without_progress: handoff.attemptsWithoutProgress,
    granted: JSON.stringify(handoff.granted),
    seq: handoff.seq,
    head: handoff.head,
    usage: JSON.stringify(handoff.usage),
    wall_left_ms: wallLeft(handoff),
    holder: textOrNull(handoff.holder),
    lease: textOrNull(handoff.lease),
    counter: handoff.counter,
    // The hash, not the value, says whether there is a result: a result may be null.
    result: handoff.resultHash === null ? null : JSON.stringify(handoff.result),
    result_hash: handoff.resultHash,
    error: textOrNull(handoff.error),
    created_at: handoff.createdAt,
    updated_at: handoff.updatedAt,
    claimed_at: handoff.claimedAt,
  };
}

export function toHandoff(row: Row): Handoff {
  const id = row['id'] as string;
  return {
    id,
    intent: readIntent(id, row['intent'] as string),
    state: row['state'] as State,
    reason: row['reason'] as string | null,
    fence: row['fence'] as bigint,
    attempts: Number(row['attempts']),
    releases: Number(row['releases']),
    attemptsWithoutProgress: Number(row['attempts_without_progress']),
    granted: parsed<Required<Grant>>(row, 'granted'),
    seq: Number(row['seq']),
    head: row['head'] as string,
    usage: parsed<Usage>(row, 'usage'),
    holder: parsed<Holder | null>(row, 'holder'),
    lease: parsed<Lease | null>(row, 'lease'),
    counter: Number(row['counter']),
    result: parsed(row, 'result'),
    resultHash: row['result_hash'] as string | null,
    error: parsed(row, 'error'),
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
    claimedAt: numberOrNull(row['claimed_at']),
  };
}

export function toLease(row: Row): LeaseRow {
  return {
    id: row['id'] as string,
    fence: row['fence'] as bigint,
    counter: Number(row['counter']),
    lease: parsed<Lease>(row, 'lease'),
    holder: parsed<Holder>(row, 'holder'),
    claimedAt: Number(row['claimed_at']),
    wallLeftMs: numberOrNull(row['wall_left_ms']),
  };
}

export function toCheckpoint(row: Row): CheckpointRow {
  return { seq: Number(row['seq']), hash: row['hash'] as string, text: row['body'] };
}

export function toEvent(row: Row): EventRecord {
  return {
    n: Number(row['n']),
    id: row['id'] as string,
    type: row['type'] as string,
    fence: String(row['fence']),
    at: Number(row['at']),
    data: parsed(row, 'data'),
  };
}

function parsed<T>(row: Row, column: string): T {
  const text = row[column];
  try {
    return (text === null ? null : JSON.parse(text as string)) as T;
  } catch (error) {
    const { message } = error as Error;
    throw new DhpError('E_STORE', `the ${column} stored for ${String(row['id'])} is damaged: ${message}`, {}, error);
  }
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}
