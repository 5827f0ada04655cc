import { monotonicMs, pause } from '../clock.ts';
import { DhpError, LeaseLost } from '../errors.ts';
import { sealRecord } from '../protocol/record.ts';
import { trigger } from '../trigger.ts';
import type { BlobRef, CheckpointRecord, Handoff, Json, Store, Token, Usage } from '../types.ts';
import { HeldLease } from './lease.ts';
import { type Restored, type RestoredChain, restore, restoreChain } from './restore.ts';
import type { Seat } from './seat.ts';

export interface CheckpointOptions {
  /** Binary data by name. Durable before the record that names it commits; not to be changed until then. */
  readonly blobs?: Readonly<Record<string, Uint8Array>>;
  /** Consumed since the checkpoint before. Steps default to 1, cost to 0, wall_ms to the time that passed. */
  readonly usage?: Partial<Usage>;
}

export interface FailOptions {
  /** false parks the handoff as a dead letter at once. Default true. */
  readonly retryable?: boolean;
}

const MAX_TRIES = 5;
const FIRST_RETRY_MS = 50;

/** What an error leaves in the row: never its class, always its words. */
function describeError(error: unknown): Json {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  return { name: error.name, message: error.message, ...(typeof code === 'string' && { code }) };
}

/**
 * One claim on a handoff, from the moment it is made until complete, release or fail, or until the lease is lost.
 *
 * Writes are made one after the other in the order of the calls. Each is refused with `LeaseLost` once somebody else may
 * own the work. A write whose outcome is unknown is repeated as it was, which the store takes for one write; when the
 * store stays silent the error is thrown, the claim lives on, and the next write first asks the store where it stands.
 *
 * Leaving its scope (`await using`) without an end releases the work with reason `abandoned`.
 */
export class ClaimContext implements AsyncDisposable {
  readonly id: string;
  readonly fence: bigint;
  /** Which attempt this is, counted from 1. */
  readonly attempt: number;
  /** Aborts with `LeaseLost` when the lease is lost, and with the caller's reason when the caller's signal does. */
  readonly signal: AbortSignal;

  readonly #store: Store;
  readonly #seat: Seat;
  readonly #lease: HeldLease;
  readonly #worker: string;
  #handoff: Handoff;
  #turn: Promise<unknown> = Promise.resolve();
  #ended: string | null = null;
  #uncertain = false;
  #ending: Promise<unknown> = Promise.resolve();
  #usedUntil: number;

  /** Made by `claim`, `recover` and `acquire`. `sentAt` is the monotonic time before the claim was sent to the store. */
  constructor(
    store: Store,
    handoff: Handoff,
    seat: Seat,
    options: {
      readonly workerId: string;
      readonly sentAt: number;
      readonly progressTimeoutMs: number | null;
      readonly signal?: AbortSignal | undefined;
    },
  ) {
    const { id, fence, lease } = handoff;
    if (lease === null) throw new DhpError('E_STATE', `The store handed out ${id} without a lease`);
    this.id = id;
    this.fence = fence;
    this.attempt = handoff.attempts;
    this.#store = store;
    this.#seat = seat;
    this.#worker = options.workerId;
    this.#handoff = handoff;
    this.#usedUntil = options.sentAt;
    this.#lease = new HeldLease(this.#token, lease, options.sentAt);
    this.signal =
      options.signal === undefined ? this.#lease.signal : AbortSignal.any([this.#lease.signal, options.signal]);
    const { progressTimeoutMs } = options;
    seat.beat({ token: this.#token, lease, progressTimeoutMs, moments: this.#lease.moments.buffer }, (error) =>
      this.#lost(error),
    );
  }

  get #token(): Token {
    return { id: this.id, fence: this.fence };
  }

  /** The handoff as the last answer of the store showed it. */
  get handoff(): Handoff {
    return this.#handoff;
  }

  /**
   * Appends a checkpoint; durable when it resolves, blobs included. A checkpoint that crosses a cap of the budget is kept,
   * the handoff is parked, and the call throws `E_BUDGET`.
   */
  checkpoint(state: Json, options: CheckpointOptions = {}): Promise<CheckpointRecord> {
    return this.#inTurn(async () => {
      const now = monotonicMs();
      trigger('checkpoint:before-blobs');
      const blobs = await this.#putBlobs(options.blobs ?? {});
      trigger('checkpoint:after-blobs');
      await this.#settle();
      const { seq, head } = this.#handoff;
      const record = sealRecord({
        t: 'ckpt',
        v: 1,
        id: this.id,
        seq: seq + 1,
        fence: String(this.fence),
        attempt: this.attempt,
        worker: this.#worker,
        ts: new Date().toISOString(),
        state,
        blobs,
        usage: { steps: 1, cost: 0, wall_ms: Math.round(now - this.#usedUntil), ...options.usage },
        prev: head,
      });
      this.#handoff = await this.#commit(() => this.#store.checkpoint(this.#token, record));
      this.#usedUntil = now;
      this.#lease.moments.progressedAt = monotonicMs();
      trigger('checkpoint:after-commit');
      this.#stopIfParked();
      return record;
    });
  }

  /** Ends the claim with a result. One that the output schema refuses throws `E_RESULT`, and the claim lives on. */
  complete(result: Json): Promise<Handoff> {
    return this.#inTurn(async () => {
      trigger('complete:before-commit');
      const handoff = await this.#end('completed', () => this.#store.complete(this.#token, result));
      trigger('complete:after-commit');
      return handoff;
    });
  }

  /** Gives the work back for others to go on with; costs no attempt. */
  release(reason = 'released'): Promise<Handoff> {
    return this.#inTurn(() => this.#giveBack('released', () => this.#store.release(this.#token, reason)));
  }

  /** Gives the work back as failed: for another attempt, or as a dead letter when it is not retryable or none is left. */
  fail(error: unknown, options: FailOptions = {}): Promise<Handoff> {
    const { retryable = true } = options;
    return this.#inTurn(() =>
      this.#giveBack('failed', () => this.#store.fail(this.#token, describeError(error), retryable)),
    );
  }

  /** The newest good checkpoint with its blobs, or null; a damaged one is quarantined on the way and never met again. */
  restore(): Promise<Restored | null> {
    return this.#inTurn(() => {
      this.#uncertain = true;
      return restore(this.#store, this.#token);
    });
  }

  /** Every checkpoint, for work whose state is the whole chain; from a damaged one on, the chain is quarantined. */
  restoreChain(): Promise<RestoredChain> {
    return this.#inTurn(() => {
      this.#uncertain = true;
      return restoreChain(this.#store, this.#token);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    if (this.#ended === null) {
      // Best effort: once the heart stops, a supervisor frees the work after a TTL.
      await this.release('abandoned').catch(() => {});
    }
    this.#close('abandoned');
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => {
      if (this.#ended !== null) {
        throw new DhpError('E_STATE', `This claim of ${this.id} (fence ${this.fence}) has ended: ${this.#ended}`);
      }
      this.#lease.throwIfLost();
      return act();
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** While an end is under way its own answer counts: the heart also finds the claim gone when the end has committed. */
  async #lost(error: LeaseLost): Promise<void> {
    await this.#ending;
    if (this.#ended === null) this.#lease.lose(error);
  }

  async #putBlobs(blobs: Readonly<Record<string, Uint8Array>>): Promise<BlobRef[]> {
    const refs: BlobRef[] = [];
    for (const [name, bytes] of Object.entries(blobs)) {
      refs.push({ name, ...(await this.#commit(() => this.#store.blobs.put(bytes))) });
    }
    return refs;
  }

  /** After a write of unknown outcome, or a quarantine: where the chain ends is read from the row. */
  async #settle(): Promise<void> {
    if (!this.#uncertain) return;
    const row = await this.#store.get(this.id);
    if (row !== null && row.fence === this.fence) this.#handoff = row;
    this.#uncertain = false;
  }

  /** A repeat is not renewed for: the write that was sent may have ended the claim, and the store knows its own write again. */
  async #commit<T>(write: () => Promise<T>): Promise<T> {
    let sent = false;
    for (let tries = 1; ; tries += 1) {
      this.#lease.throwIfLost();
      try {
        if (!sent && !this.#lease.isCurrent) await this.#renew();
        sent = true;
        return await write();
      } catch (error) {
        if (error instanceof LeaseLost) this.#lease.lose(error);
        if (!(error instanceof DhpError) || error.code !== 'E_STORE') throw error;
        this.#uncertain = true;
        if (tries === MAX_TRIES) throw error;
        await pause(FIRST_RETRY_MS * 2 ** (tries - 1));
      }
    }
  }

  async #renew(): Promise<void> {
    const sentAt = monotonicMs();
    await this.#store.heartbeat(this.#token);
    this.#lease.moments.renewedAt = sentAt;
  }

  #end(how: string, write: () => Promise<Handoff>): Promise<Handoff> {
    const end = this.#commit(write).then((handoff) => {
      this.#handoff = handoff;
      this.#close(how);
      return handoff;
    });
    this.#ending = end.catch(() => {});
    return end;
  }

  /** Giving back changes the fence, so a repeat finds the lease gone: then the write before it did what was wanted. */
  #giveBack(how: string, write: () => Promise<Handoff>): Promise<Handoff> {
    let repeated = false;
    return this.#end(how, async () => {
      try {
        return await write();
      } catch (error) {
        const row = repeated && error instanceof LeaseLost ? await this.#store.get(this.id) : null;
        repeated = true;
        if (row === null || row.fence !== this.fence + 1n) throw error;
        return row;
      }
    });
  }

  #stopIfParked(): void {
    const { state, reason } = this.#handoff;
    if (state === 'claimed') return;
    const error = new DhpError('E_BUDGET', `${this.id} was parked by this checkpoint, which is kept: ${reason}`, {
      reason,
    });
    this.#close(`parked: ${reason}`);
    this.#lease.lose(error);
    throw error;
  }

  #close(how: string): void {
    this.#ended ??= how;
    this.#seat.leave();
    this.#lease.close();
  }
}
