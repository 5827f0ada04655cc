import { monotonicMs, timerDelay } from '../clock.ts';
import { type DhpError, LeaseLost } from '../errors.ts';
import type { Lease, Token } from '../types.ts';

export interface LeaseOptions {
  /** How long the holder may be silent before others may take over: at least three heartbeats. Default 6000, or these. */
  readonly ttlMs?: number;
  /** Time between renewals. Default 2000, or a third of `ttlMs` when that is shorter. */
  readonly heartbeatMs?: number;
}

const DEFAULT: Lease = { ttlMs: 6000, heartbeatMs: 2000 };

/** Fills in the lease times; whether they fit each other is for the store to check. */
export function leaseOf(options: LeaseOptions): Lease {
  const ttlMs = options.ttlMs ?? Math.max(DEFAULT.ttlMs, 3 * (options.heartbeatMs ?? 0));
  return { ttlMs, heartbeatMs: options.heartbeatMs ?? Math.min(DEFAULT.heartbeatMs, ttlMs / 3) };
}

const RENEWED = 0;
const PROGRESSED = 1;

/**
 * Two moments of a claim, shared between the thread that works and the thread that beats, so that each knows the other's
 * even while one of them is blocked.
 */
export class SharedMoments {
  readonly buffer: SharedArrayBuffer;
  readonly #slots: BigInt64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#slots = new BigInt64Array(buffer);
  }

  #read(slot: number): number {
    return Number(Atomics.load(this.#slots, slot)) / 1e3;
  }

  #write(slot: number, ms: number): void {
    Atomics.store(this.#slots, slot, BigInt(Math.round(ms * 1e3)));
  }

  /** When the last successful renewal was sent, on the monotonic clock. */
  get renewedAt(): number {
    return this.#read(RENEWED);
  }
  set renewedAt(ms: number) {
    this.#write(RENEWED, ms);
  }

  /** When the last checkpoint was acknowledged (at first: when the claim was), on the monotonic clock. */
  get progressedAt(): number {
    return this.#read(PROGRESSED);
  }
  set progressedAt(ms: number) {
    this.#write(PROGRESSED, ms);
  }
}

/**
 * What the holder knows of its own lease.
 *
 * current: less than a TTL has passed since the last successful renewal was sent. Writes go straight to the store.
 * lapsed: more has passed; others may have taken over. `signal` aborts, and a write has to renew first.
 * lost: the store refused the fence. `signal` aborts, and every write throws. There is no way back.
 */
export class HeldLease {
  readonly moments: SharedMoments;
  readonly #token: Token;
  readonly #ttlMs: number;
  readonly #controller = new AbortController();
  #lost: DhpError | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(token: Token, lease: Lease, sentAt: number) {
    this.#token = token;
    this.#ttlMs = lease.ttlMs;
    this.moments = new SharedMoments();
    this.moments.renewedAt = sentAt;
    this.moments.progressedAt = sentAt;
    this.#watch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isCurrent(): boolean {
    return this.#remaining() > 0;
  }

  throwIfLost(): void {
    if (this.#lost !== null) throw this.#lost;
  }

  lose(error: DhpError): void {
    this.#lost ??= error;
    this.close();
    this.#controller.abort(this.#lost);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #remaining(): number {
    return this.moments.renewedAt + this.#ttlMs - monotonicMs();
  }

  #watch(): void {
    const remaining = this.#remaining();
    if (remaining > 0) {
      this.#timer = setTimeout(() => this.#watch(), timerDelay(remaining)).unref();
      return;
    }
    const { id, fence } = this.#token;
    this.#controller.abort(
      new LeaseLost(
        `The claim of ${id} (fence ${fence}) was not renewed for ${this.#ttlMs} ms; others may have taken over`,
        {
          id,
          fence: String(fence),
        },
      ),
    );
  }
}
