/**
 * The vocabulary of durable handoffs: what is stored, what a store can do. Pure types, no behaviour.
 * Nothing here, or anywhere in `lib/dhp`, knows of tensors, kernels or tiles.
 */

/** What RFC 8785 can carry faithfully. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * | from | event | to | fence | attempts |
 * | --- | --- | --- | --- | --- |
 * | — | dispatch | pending | 0 | 0 |
 * | pending | claim | claimed | +1 | +1 |
 * | claimed | heartbeat, checkpoint (seq = last + 1) | claimed | = | = |
 * | claimed | complete (schema valid) | completed | = | = |
 * | claimed | release | orphaned (released) | +1 | refunded; releases +1 |
 * | claimed | fail | orphaned (failed) or dead | +1 | = |
 * | claimed | silent for a TTL | orphaned (expired) | +1 | = |
 * | any open | a budget cap is crossed | dead (reason) | +1 | = |
 * | orphaned | recover | claimed | +1 | +1 |
 * | any open | cancel | cancelled | +1 | = |
 * | dead | requeue (with a grant) | orphaned (requeued) | +1 | raised by the grant |
 * | completed, cancelled | any write | refused | | |
 */
export type State = 'pending' | 'claimed' | 'orphaned' | 'completed' | 'dead' | 'cancelled';

/** Caps of one handoff; null means no cap. */
export interface Budget {
  readonly max_attempts: number;
  readonly max_steps: number | null;
  readonly max_cost: number | null;
  readonly max_wall_ms: number | null;
  readonly max_attempts_without_progress: number | null;
  readonly max_releases: number | null;
}

/** What is hashed into the id. The stored form always holds the explicit budget. */
export interface Intent {
  readonly v: 1;
  readonly task_kind: string;
  readonly inputs: Json;
  readonly output_schema: Json;
  readonly budget: Budget;
  readonly nonce?: string;
}

/** Additional allowance given by an operator, recorded outside the intent so that the id stays. */
export interface Grant {
  readonly attempts?: number;
  readonly steps?: number;
  readonly cost?: number;
  readonly wall_ms?: number;
  readonly attempts_without_progress?: number;
  readonly releases?: number;
}

/** What an attempt consumed since the checkpoint before. */
export interface Usage {
  readonly steps: number;
  readonly cost: number;
  readonly wall_ms: number;
}

/** Who holds a claim. `boot` + `pid` + `startTime` name one process of one host for ever; the worker id is for people. */
export interface Holder {
  readonly workerId: string;
  /** Boot id of the host's kernel. */
  readonly boot: string;
  readonly pid: number;
  /** Start time of the process in clock ticks since boot (field 22 of /proc/<pid>/stat). */
  readonly startTime: string;
}

/** Lease times of a claim, in milliseconds; ttl ≥ 3 × heartbeat is enforced. */
export interface Lease {
  readonly ttlMs: number;
  readonly heartbeatMs: number;
}

/** A blob named by a checkpoint: content-addressed, durable before the record that names it commits. */
export interface BlobRef {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** One link of a handoff's chain. `hash` is the SHA-256 of the canonical record without it; the first `prev` is the id. */
export interface CheckpointRecord {
  readonly t: 'ckpt';
  readonly v: 1;
  readonly id: string;
  readonly seq: number;
  /** Decimal, because fences are exact past 2^53. */
  readonly fence: string;
  readonly attempt: number;
  readonly worker: string;
  /** ISO time of the writer's wall clock, for people only. */
  readonly ts: string;
  readonly state: Json;
  readonly blobs: readonly BlobRef[];
  readonly usage: Usage;
  readonly prev: string;
  readonly hash: string;
}

/** A handoff as stored. */
export interface Handoff {
  readonly id: string;
  readonly intent: Intent;
  readonly state: State;
  /** Why it is orphaned, dead or cancelled: released, failed, expired, worker-died, stalled, requeued, max-attempts, … */
  readonly reason: string | null;
  /** Rises at every change of ownership; (id, fence) is the key of ownership. */
  readonly fence: bigint;
  readonly attempts: number;
  readonly releases: number;
  /** Claims since the last accepted checkpoint. */
  readonly attemptsWithoutProgress: number;
  /** Sum of all grants. */
  readonly granted: Required<Grant>;
  /** Sequence number and hash of the newest checkpoint: 0 and the id when there is none. */
  readonly seq: number;
  readonly head: string;
  readonly usage: Usage;
  /** Null unless claimed. */
  readonly holder: Holder | null;
  readonly lease: Lease | null;
  /** Heartbeat counter of the present claim: liveness is that it changes. */
  readonly counter: number;
  readonly result: Json | null;
  readonly resultHash: string | null;
  readonly error: Json | null;
  /** Milliseconds of the store's clock. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When the present claim began, by the store's clock; null unless claimed. */
  readonly claimedAt: number | null;
}

export interface EventRecord {
  readonly n: number;
  readonly id: string;
  readonly type: string;
  readonly fence: string;
  readonly at: number;
  readonly data: Json;
}

/** Ownership of one claim, as a holder presents it with every write. */
export interface Token {
  readonly id: string;
  readonly fence: bigint;
}

/** What a supervisor needs of each live claim. */
export interface LeaseRow {
  readonly id: string;
  readonly fence: bigint;
  readonly counter: number;
  readonly lease: Lease;
  readonly holder: Holder;
  readonly claimedAt: number;
  /** What the newest checkpoint left of the wall budget, grants included; null for no cap. */
  readonly wallLeftMs: number | null;
}

export interface ListFilter {
  readonly state?: State | readonly State[];
  readonly taskKind?: string;
  /** At most this many rows, ordered by (createdAt, id); all of them when absent. */
  readonly limit?: number;
  /** Continue after this id. */
  readonly after?: string;
}

/** Content-addressed binary data beside the rows. */
export interface BlobStore {
  /** Durable when it resolves: tmp → fsync → rename → fsync of the directory. */
  put(bytes: Uint8Array): Promise<{ readonly sha256: string; readonly bytes: number }>;
  /** The bytes, re-hashed; `E_BLOB_MISSING` or `E_BLOB_CORRUPT` otherwise. */
  get(sha256: string): Promise<Uint8Array>;
  /** Whoever asks is about to name it: the blob counts as put just now, so that no collection takes it meanwhile. */
  has(sha256: string): Promise<boolean>;
  /** Removes blobs that `isNamed` does not know and that are older than `olderThanMs`; answers how many. */
  collect(isNamed: (sha256: string) => Promise<boolean>, olderThanMs: number): Promise<number>;
}

/**
 * Where handoffs live. Every write is one conditional statement on (id, state, fence) in one transaction; a write that
 * changes no row is `E_LEASE_LOST` (a holder's write) or `E_STATE` (an operator's), with the present state and fence
 * in `details`. Repeating an acknowledged-or-not write (same seq and hash, same fence and result hash) succeeds.
 */
export interface Store {
  /** How another thread or process opens the same store; null when it cannot (memory). */
  readonly url: string | null;
  readonly blobs: BlobStore;
  dispatch(intent: Intent): Promise<{ readonly id: string; readonly created: boolean }>;
  get(id: string): Promise<Handoff | null>;
  /**
   * A damaged handoff is left out, so that it hides no other; `get` of it says `E_ID_MISMATCH` when its intent no longer
   * hashes to its id, else `E_STORE`. A page shorter than `limit` is the last.
   */
  list(filter?: ListFilter): Promise<readonly Handoff[]>;
  /** pending → claimed; counts the attempt. Crossing a cap parks the handoff and throws `E_BUDGET`. */
  claim(id: string, holder: Holder, lease: Lease): Promise<Handoff>;
  /** orphaned → claimed, the same way. */
  recover(id: string, holder: Holder, lease: Lease): Promise<Handoff>;
  /** Raises the counter. */
  heartbeat(token: Token): Promise<void>;
  /** Appends a record; the handoff after it, `dead` when the write crossed a cap (the write is kept). */
  checkpoint(token: Token, record: CheckpointRecord): Promise<Handoff>;
  /** The newest checkpoint that is not quarantined. */
  lastCheckpoint(id: string): Promise<CheckpointRecord | null>;
  /** In order of seq, from `fromSeq` (default 1). `E_CHECKPOINT_CORRUPT`, with the first `seq`, when one before the newest is damaged. */
  checkpoints(id: string, fromSeq?: number): Promise<readonly CheckpointRecord[]>;
  /** Takes this checkpoint and all after it out of the chain: the one before serves from now on. The holder's act. */
  quarantine(token: Token, seq: number, why: string): Promise<Handoff>;
  /** Whether a checkpoint ever named this blob, also one that is quarantined or damaged now. */
  isNamed(sha256: string): Promise<boolean>;
  complete(token: Token, result: Json): Promise<Handoff>;
  release(token: Token, reason: string): Promise<Handoff>;
  fail(token: Token, error: Json, retryable: boolean): Promise<Handoff>;
  /** claimed → orphaned (reason), by compare-and-swap on the observed fence; false when somebody else was first. */
  orphan(token: Token, reason: string): Promise<boolean>;
  /** open → dead (reason), by compare-and-swap on the observed fence; false when somebody else was first. */
  park(token: Token, reason: string): Promise<boolean>;
  requeue(id: string, grant: Grant): Promise<Handoff>;
  cancel(id: string): Promise<Handoff>;
  /** Live claims after this id, in order of id; 100 of them unless told otherwise. */
  leases(after?: string, limit?: number): Promise<readonly LeaseRow[]>;
  /** The term when this candidate leads now, null when another does. */
  acquireLeader(candidate: string, ttlMs: number): Promise<number | null>;
  renewLeader(candidate: string, term: number, ttlMs: number): Promise<boolean>;
  /** What happened, in order, for people: at most 1000 records after number `afterN` unless told otherwise. */
  events(afterN?: number, limit?: number): Promise<readonly EventRecord[]>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
