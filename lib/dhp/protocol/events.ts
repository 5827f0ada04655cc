import type { DhpError } from '../errors.ts';
import type { CheckpointRecord, Grant, Handoff, Holder, Json, Lease } from '../types.ts';

/** A link of the chain as the row names it: sequence number and hash; 0 and the id before the first. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

export interface Beginning {
  readonly type: 'claim' | 'recover';
  readonly holder: Holder;
  readonly lease: Lease;
}

/** What can happen to a handoff that exists. `fence` is the one the writer presents or observed. */
export type Event =
  | Beginning
  | { readonly type: 'heartbeat'; readonly fence: bigint }
  | {
      readonly type: 'checkpoint';
      readonly fence: bigint;
      readonly record: CheckpointRecord;
      /** Hash of the record already stored under this seq, if any. */
      readonly stored: string | null;
      /** Why a rightful holder's record must still be refused, if it must. */
      readonly problem: DhpError | null;
    }
  | {
      readonly type: 'quarantine';
      readonly fence: bigint;
      readonly seq: number;
      readonly why: string;
      readonly previous: Link;
    }
  /** The store itself found the newest record unreadable. */
  | { readonly type: 'unreadable'; readonly seq: number; readonly why: string; readonly previous: Link }
  | {
      readonly type: 'complete';
      readonly fence: bigint;
      readonly result: Json;
      readonly resultHash: string;
      readonly problem: DhpError | null;
    }
  | { readonly type: 'release'; readonly fence: bigint; readonly reason: string }
  | { readonly type: 'fail'; readonly fence: bigint; readonly error: Json; readonly retryable: boolean }
  | { readonly type: 'orphan'; readonly fence: bigint; readonly reason: string }
  | { readonly type: 'park'; readonly fence: bigint; readonly reason: string }
  | { readonly type: 'requeue'; readonly grant: Grant }
  | { readonly type: 'cancel' };

export type EventOf<T extends Event['type']> = Extract<Event, { readonly type: T }>;

/** What people read in the feed of events. */
export interface Emitted {
  readonly type: string;
  readonly data: Json;
}

export type Outcome =
  /** Store `next` and the events; then, if there is an `error`, the caller gets that instead of the handoff. */
  | { readonly kind: 'changed'; readonly next: Handoff; readonly emits: readonly Emitted[]; readonly error?: DhpError }
  /** It is already so. */
  | { readonly kind: 'repeated' }
  | { readonly kind: 'refused'; readonly error: DhpError };
