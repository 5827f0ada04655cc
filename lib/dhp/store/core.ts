import { DhpError } from '../errors.ts';
import { canonical, canonicalCopy, sha256 } from '../protocol/canonical.ts';
import type { Event } from '../protocol/events.ts';
import { sealIntent } from '../protocol/ids.ts';
import { apply, pending } from '../protocol/machine.ts';
import { checkRecord, readRecord } from '../protocol/record.ts';
import { resultProblem } from '../protocol/schema.ts';
import type {
  BlobStore,
  CheckpointRecord,
  EventRecord,
  Grant,
  Handoff,
  Holder,
  Intent,
  Json,
  Lease,
  LeaseRow,
  ListFilter,
  Store,
  Token,
} from '../types.ts';
import { checkHolder, checkLease, checkLimit, checkMs, checkText } from './arguments.ts';
import { linkBefore, persist, settle } from './chain.ts';
import { closedStore, type Driver, type Rows } from './rows.ts';

export interface CoreOptions {
  readonly driver: Driver;
  readonly blobs: BlobStore;
  readonly url: string | null;
  /** The store's clock, in milliseconds. */
  readonly now: () => number;
}

/**
 * What every store does alike: read the row, let the state machine decide, write its decision under (id, state, fence),
 * all in one transaction of the driver.
 */
export class CoreStore implements Store {
  readonly url: string | null;
  readonly blobs: BlobStore;
  readonly #driver: Driver;
  readonly #now: () => number;
  #closed = false;

  constructor(options: CoreOptions) {
    this.url = options.url;
    this.blobs = options.blobs;
    this.#driver = options.driver;
    this.#now = options.now;
  }

  async dispatch(intent: Intent): Promise<{ readonly id: string; readonly created: boolean }> {
    const sealed = sealIntent(intent);
    return this.#write((rows) => {
      if (rows.handoff(sealed.id) !== null) return { id: sealed.id, created: false };
      const now = this.#now();
      const handoff = pending(sealed.id, sealed.intent, now);
      rows.insert(sealed, handoff);
      rows.emit(handoff, { type: 'dispatched', data: { task_kind: intent.task_kind } }, now);
      return { id: sealed.id, created: true };
    });
  }

  async get(id: string): Promise<Handoff | null> {
    return this.#read((rows) => rows.handoff(id));
  }

  async list(filter: ListFilter = {}): Promise<readonly Handoff[]> {
    if (filter.limit !== undefined) checkLimit(filter.limit);
    return this.#read((rows) => {
      if (filter.after !== undefined) known(rows, filter.after);
      return rows.list(filter);
    });
  }

  async claim(id: string, holder: Holder, lease: Lease): Promise<Handoff> {
    return this.#begin('claim', id, holder, lease);
  }

  async recover(id: string, holder: Holder, lease: Lease): Promise<Handoff> {
    return this.#begin('recover', id, holder, lease);
  }

  async heartbeat(token: Token): Promise<void> {
    await this.#change(token.id, () => ({ type: 'heartbeat', fence: token.fence }));
  }

  async checkpoint(token: Token, record: CheckpointRecord): Promise<Handoff> {
    checkRecord(record);
    if (record.id !== token.id || record.fence !== String(token.fence)) {
      throw new DhpError(
        'E_ARGUMENT',
        `a record of ${record.id} at fence ${record.fence} cannot be written with a token of ${token.id} at fence ${token.fence}`,
      );
    }
    const problem = await this.#missingBlob(record);
    return this.#change(
      token.id,
      (_, rows) => ({
        type: 'checkpoint',
        fence: token.fence,
        record,
        stored: rows.hashAt(record.id, record.seq),
        problem,
      }),
      (rows) => rows.append(record),
    );
  }

  async lastCheckpoint(id: string): Promise<CheckpointRecord | null> {
    const newest = await this.#read((rows) => {
      known(rows, id);
      const row = rows.newest(id);
      return row === null ? null : readRecord(id, row);
    });
    if (typeof newest !== 'string') return newest;
    return this.#write((rows) => settle(rows, known(rows, id), this.#now()).record);
  }

  async checkpoints(id: string, fromSeq = 1): Promise<readonly CheckpointRecord[]> {
    const last = await this.lastCheckpoint(id);
    if (last === null) return [];
    const rows = await this.#read((it) => it.chain(id, fromSeq));
    return rows.map((row) => {
      const record = readRecord(id, row);
      if (typeof record !== 'string') return record;
      throw new DhpError('E_CHECKPOINT_CORRUPT', `checkpoint ${row.seq} of ${id} is damaged: ${record}`, {
        id,
        seq: row.seq,
      });
    });
  }

  async quarantine(token: Token, seq: number, why: string): Promise<Handoff> {
    checkText('why', why);
    return this.#change(
      token.id,
      (_, rows) => ({ type: 'quarantine', fence: token.fence, seq, why, previous: linkBefore(rows, token.id, seq) }),
      (rows) => rows.setAside(token.id, seq),
    );
  }

  async complete(token: Token, result: Json): Promise<Handoff> {
    const text = canonical(result);
    const { intent } = await this.#read((rows) => known(rows, token.id));
    const copy = JSON.parse(text) as Json;
    const problem = resultProblem(intent.output_schema, copy);
    const resultHash = sha256(text);
    return this.#change(token.id, () => ({ type: 'complete', fence: token.fence, result: copy, resultHash, problem }));
  }

  async release(token: Token, reason: string): Promise<Handoff> {
    checkText('reason', reason);
    return this.#change(token.id, () => ({ type: 'release', fence: token.fence, reason }));
  }

  async fail(token: Token, error: Json, retryable: boolean): Promise<Handoff> {
    const copy = canonicalCopy(error);
    return this.#change(token.id, () => ({ type: 'fail', fence: token.fence, error: copy, retryable }));
  }

  async orphan(token: Token, reason: string): Promise<boolean> {
    return this.#swap('orphan', token, reason);
  }

  async park(token: Token, reason: string): Promise<boolean> {
    return this.#swap('park', token, reason);
  }

  async requeue(id: string, grant: Grant): Promise<Handoff> {
    return this.#change(id, () => ({ type: 'requeue', grant }));
  }

  async cancel(id: string): Promise<Handoff> {
    return this.#change(id, () => ({ type: 'cancel' }));
  }

  async leases(after = '', limit = 100): Promise<readonly LeaseRow[]> {
    checkLimit(limit);
    return this.#read((rows) => rows.leases(after, limit));
  }

  async acquireLeader(candidate: string, ttlMs: number): Promise<number | null> {
    checkText('candidate', candidate);
    checkMs('ttlMs', ttlMs);
    return this.#write((rows) => {
      const now = this.#now();
      const present = rows.leader();
      const reigns = present !== null && present.expiresAt > now;
      if (reigns && present.candidate !== candidate) return null;
      const term = reigns ? present.term : (present?.term ?? 0) + 1;
      rows.setLeader({ candidate, term, expiresAt: now + ttlMs });
      return term;
    });
  }

  async renewLeader(candidate: string, term: number, ttlMs: number): Promise<boolean> {
    checkMs('ttlMs', ttlMs);
    return this.#write((rows) => {
      const present = rows.leader();
      if (present?.candidate !== candidate || present.term !== term) return false;
      rows.setLeader({ candidate, term, expiresAt: this.#now() + ttlMs });
      return true;
    });
  }

  async isNamed(blob: string): Promise<boolean> {
    return this.#read((rows) => rows.isNamed(blob));
  }

  async events(afterN = 0, limit = 1000): Promise<readonly EventRecord[]> {
    checkLimit(limit);
    return this.#read((rows) => rows.events(afterN, limit));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#driver.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #begin(type: 'claim' | 'recover', id: string, holder: Holder, lease: Lease): Promise<Handoff> {
    checkHolder(holder);
    checkLease(lease);
    // A holder starts from a chain whose newest record can be read, so the handoff it gets is the one to go on from.
    return this.#change(
      id,
      () => ({ type, holder, lease }),
      (rows, next) => settle(rows, next, this.#now()).handoff,
    );
  }

  async #swap(type: 'orphan' | 'park', token: Token, reason: string): Promise<boolean> {
    checkText('reason', reason);
    try {
      await this.#change(token.id, () => ({ type, fence: token.fence, reason }));
      return true;
    } catch (error) {
      if (error instanceof DhpError && (error.code === 'E_LEASE_LOST' || error.code === 'E_STATE')) return false;
      throw error;
    }
  }

  async #change(
    id: string,
    eventOf: (handoff: Handoff, rows: Rows) => Event,
    also?: (rows: Rows, next: Handoff) => Handoff | void,
  ): Promise<Handoff> {
    const settled = await this.#write((rows) => {
      const before = known(rows, id);
      const now = this.#now();
      const outcome = apply(before, eventOf(before, rows), now);
      if (outcome.kind === 'refused') throw outcome.error;
      if (outcome.kind === 'repeated') return { handoff: before, error: undefined };
      persist(rows, before, outcome, now);
      return { handoff: also?.(rows, outcome.next) ?? outcome.next, error: outcome.error };
    });
    if (settled.error !== undefined) throw settled.error;
    return settled.handoff;
  }

  async #missingBlob(record: CheckpointRecord): Promise<DhpError | null> {
    for (const { name, sha256: hash } of record.blobs) {
      if (!(await this.blobs.has(hash))) {
        const message = `checkpoint ${record.seq} names the blob ${JSON.stringify(name)} (${hash}), which is not stored: put it first`;
        return new DhpError('E_BLOB_MISSING', message, { name, sha256: hash });
      }
    }
    return null;
  }

  #read<T>(work: (rows: Rows) => T): Promise<T> {
    this.#checkOpen();
    return this.#driver.read(work);
  }

  #write<T>(work: (rows: Rows) => T): Promise<T> {
    this.#checkOpen();
    return this.#driver.write(work);
  }

  #checkOpen(): void {
    if (this.#closed) throw closedStore();
  }
}

function known(rows: Rows, id: string): Handoff {
  const handoff = rows.handoff(id);
  if (handoff === null) throw new DhpError('E_NOT_FOUND', `this store has no handoff ${id}`, { id });
  return handoff;
}
