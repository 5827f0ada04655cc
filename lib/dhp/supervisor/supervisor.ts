import { randomUUID } from 'node:crypto';
import { collectBlobs } from '../blobs/collect.ts';
import { monotonicMs, pause } from '../clock.ts';
import { DhpError } from '../errors.ts';
import { liveness } from '../process.ts';
import type { LeaseRow, Store } from '../types.ts';
import { type Noted, Observations } from './observations.ts';

export type SupervisorEvent =
  | {
      readonly type: 'orphaned';
      readonly id: string;
      readonly fence: bigint;
      readonly reason: 'expired' | 'worker-died';
    }
  | { readonly type: 'parked'; readonly id: string; readonly fence: bigint; readonly reason: 'max-wall-ms' }
  | { readonly type: 'leading'; readonly term: number }
  /** The supervisor or the store stood still for `gapMs`: silence seen before does not count. */
  | { readonly type: 'forgot'; readonly gapMs: number }
  /** Blobs that no checkpoint named for a day were removed. */
  | { readonly type: 'collected'; readonly blobs: number }
  /** Trouble with one row (`id`) or with the store (null); tried again at the next sweep. */
  | { readonly type: 'error'; readonly id: string | null; readonly error: unknown };

export interface SupervisorOptions {
  /** Time between sweeps. Default 250. */
  readonly pollMs?: number;
  /** Rows read at a time. Default 500. */
  readonly pageSize?: number;
  /** Names this candidate for leadership. Default: random. */
  readonly id?: string;
  /** Time between collections of unnamed blobs, by the leader. Default one hour. */
  readonly collectMs?: number;
  readonly onEvent?: (event: SupervisorEvent) => void;
}

const WATCH_MS = 100;
const HOUR_MS = 3_600_000;
const LEADER_TTL_MS = 3000;
/** A loop that is late by more than this was not running, or waited for the store. */
const PAUSE_SLACK_MS = 1000;

/**
 * Frees work whose holder is gone. Any number may run over one store.
 *
 * expired: (id, fence, counter) was seen unchanged for the claim's TTL, timed here; wall clocks are never compared.
 * worker-died: the holder is a process of this host and dead; looked at every 100 ms, between sweeps too.
 * parked: since its last checkpoint more time has passed than is left of the wall budget.
 *
 * When this loop or the store stood still, holders may have been frozen or cut off for as long, so silence is timed anew.
 * Freeing is a compare-and-swap on the fence that was seen: several supervisors are harmless. The leader acts on expiry at
 * once, the others only on what it has left undone for a leader's term, so neither safety nor progress hangs on the leader.
 * The leader also collects the blobs that no checkpoint names.
 */
export class Supervisor implements AsyncDisposable {
  readonly id: string;
  readonly #store: Store;
  readonly #pollMs: number;
  readonly #pageSize: number;
  readonly #collectMs: number;
  readonly #onEvent: (event: SupervisorEvent) => void;
  readonly #observations = new Observations();
  #lastRows: LeaseRow[] = [];
  /** Null unless the loop runs. */
  #lastBreath: number | null = null;
  #term: number | null = null;
  #leaderCheckAt = 0;
  #collectAt = 0;
  #collecting: Promise<void> | null = null;
  #stopping = new AbortController();
  #running: Promise<void> | null = null;

  constructor(store: Store, options: SupervisorOptions = {}) {
    const { pollMs = 250, pageSize = 500, collectMs = HOUR_MS, id = randomUUID(), onEvent = () => {} } = options;
    for (const [name, value] of Object.entries({ pollMs, pageSize, collectMs })) {
      if (!Number.isSafeInteger(value) || value <= 0) {
        throw new DhpError('E_ARGUMENT', `${name} is ${value}; expected a positive whole number`);
      }
    }
    this.id = id;
    this.#store = store;
    this.#pollMs = pollMs;
    this.#pageSize = pageSize;
    this.#collectMs = collectMs;
    this.#onEvent = onEvent;
  }

  /** Begins to sweep until `stop`; keeps the process alive meanwhile. */
  start(): void {
    if (this.#running !== null) return;
    this.#stopping = new AbortController();
    this.#lastBreath = monotonicMs();
    this.#observations.forgetSilence(this.#lastBreath);
    this.#running = this.#run(this.#stopping.signal);
  }

  /** Resolves when the sweep under way is done. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#collecting;
    this.#running = null;
    this.#lastBreath = null;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** One pass over all live claims, page by page. Rejects when the store cannot be read. */
  async sweepOnce(): Promise<void> {
    try {
      const patience = (await this.#isLeading()) ? 0 : LEADER_TTL_MS;
      const rows: LeaseRow[] = [];
      this.#observations.beginSweep();
      for (let page = this.#pageSize; page === this.#pageSize; ) {
        const readFrom = monotonicMs();
        const read = await this.#store.leases(rows.at(-1)?.id, this.#pageSize);
        this.#breathe();
        for (const row of read) {
          await this.#tend(row, this.#observations.note(row, readFrom, monotonicMs()), patience);
        }
        rows.push(...read);
        page = read.length;
      }
      this.#observations.endSweep();
      this.#lastRows = rows;
    } catch (error) {
      this.#observations.forgetSilence(monotonicMs());
      throw error;
    }
  }

  async #run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      this.#breathe();
      await this.sweepOnce().catch((error: unknown) => this.#onEvent({ type: 'error', id: null, error }));
      this.#collectInTime();
      const next = monotonicMs() + this.#pollMs;
      for (let left = this.#pollMs; left > 0 && !stopping.aborted; left = next - monotonicMs()) {
        await pause(Math.min(left, WATCH_MS), stopping);
        for (const row of this.#lastRows) await this.#reap(row);
      }
    }
  }

  /** Called at every step of a running loop: notices when the step before is too long ago. */
  #breathe(): void {
    if (this.#lastBreath === null) return;
    const now = monotonicMs();
    const gapMs = now - this.#lastBreath;
    this.#lastBreath = now;
    if (gapMs <= this.#pollMs + PAUSE_SLACK_MS) return;
    this.#observations.forgetSilence(now);
    this.#onEvent({ type: 'forgot', gapMs });
  }

  /** Beside the sweeps, which must not wait for a walk over every blob. */
  #collectInTime(): void {
    if (this.#term === null || this.#collecting !== null || monotonicMs() < this.#collectAt) return;
    this.#collecting = collectBlobs(this.#store)
      .then(
        (blobs) => this.#onEvent({ type: 'collected', blobs }),
        (error: unknown) => this.#onEvent({ type: 'error', id: null, error }),
      )
      .finally(() => {
        this.#collectAt = monotonicMs() + this.#collectMs;
        this.#collecting = null;
      });
  }

  async #isLeading(): Promise<boolean> {
    const now = monotonicMs();
    if (now < this.#leaderCheckAt) return this.#term !== null;
    if (this.#term !== null && !(await this.#store.renewLeader(this.id, this.#term, LEADER_TTL_MS))) this.#term = null;
    if (this.#term === null) {
      this.#term = await this.#store.acquireLeader(this.id, LEADER_TTL_MS);
      if (this.#term !== null) this.#onEvent({ type: 'leading', term: this.#term });
    }
    this.#leaderCheckAt = now + LEADER_TTL_MS / 3;
    return this.#term !== null;
  }

  async #tend(row: LeaseRow, { silentMs, unaccountedMs }: Noted, patience: number): Promise<void> {
    if (silentMs >= row.lease.ttlMs + patience) await this.#orphan(row, 'expired');
    else if (row.wallLeftMs !== null && unaccountedMs > row.wallLeftMs + patience) await this.#park(row);
    else await this.#reap(row);
  }

  async #reap(row: LeaseRow): Promise<void> {
    if (liveness(row.holder) === 'dead') await this.#orphan(row, 'worker-died');
  }

  async #orphan(row: LeaseRow, reason: 'expired' | 'worker-died'): Promise<void> {
    const { id, fence } = row;
    await this.#act(row, async () => {
      if (await this.#store.orphan({ id, fence }, reason)) this.#onEvent({ type: 'orphaned', id, fence, reason });
    });
  }

  async #park(row: LeaseRow): Promise<void> {
    const { id, fence } = row;
    await this.#act(row, async () => {
      if (await this.#store.park({ id, fence }, 'max-wall-ms')) {
        this.#onEvent({ type: 'parked', id, fence, reason: 'max-wall-ms' });
      }
    });
  }

  async #act({ id }: LeaseRow, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#onEvent({ type: 'error', id, error });
    }
  }
}
