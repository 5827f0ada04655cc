import { DhpError } from '../errors.ts';
import type { Emitted } from '../protocol/events.ts';
import type { SealedIntent } from '../protocol/ids.ts';
import type { CheckpointRecord, EventRecord, Handoff, LeaseRow, ListFilter } from '../types.ts';

/** A checkpoint as stored: `text` is what lies on the medium, and may have been damaged there. */
export interface CheckpointRow {
  readonly seq: number;
  readonly hash: string;
  readonly text: unknown;
}

export interface LeaderRow {
  readonly candidate: string;
  readonly term: number;
  /** Milliseconds of the store's clock. */
  readonly expiresAt: number;
}

/** The tables of a store, inside one transaction. */
export interface Rows {
  handoff(id: string): Handoff | null;
  insert(sealed: SealedIntent, handoff: Handoff): void;
  /** Stores `after` where the row still has the id, state and fence of `before`; false when it does not. */
  replace(before: Handoff, after: Handoff): boolean;
  list(filter: ListFilter): readonly Handoff[];
  leases(after: string, limit: number): readonly LeaseRow[];

  append(record: CheckpointRecord): void;
  /** Whether a checkpoint ever named this blob. */
  isNamed(sha256: string): boolean;
  /** Takes the checkpoints from this one on out of the chain and keeps them for inspection. */
  setAside(id: string, fromSeq: number): void;
  newest(id: string): CheckpointRow | null;
  hashAt(id: string, seq: number): string | null;
  chain(id: string, fromSeq: number): readonly CheckpointRow[];

  emit(handoff: Handoff, event: Emitted, now: number): void;
  events(afterN: number, limit: number): readonly EventRecord[];

  leader(): LeaderRow | null;
  setLeader(leader: LeaderRow): void;
}

/**
 * How a store reaches its tables. `work` runs alone and to its end; when it throws, nothing it wrote remains. It throws
 * only before its first write, so that a driver without a log of its own needs no undo.
 */
export interface Driver {
  read<T>(work: (rows: Rows) => T): Promise<T>;
  write<T>(work: (rows: Rows) => T): Promise<T>;
  close(): Promise<void>;
}

export function closedStore(): DhpError {
  return new DhpError('E_STORE', 'this store is closed; open it again with openStore');
}
