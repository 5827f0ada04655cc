import { monotonicMs, timerDelay } from '../clock.ts';
import { LeaseLost } from '../errors.ts';
import type { Lease, Store, Token } from '../types.ts';
import { SharedMoments } from './lease.ts';

/** One claim to beat for. Plain data, so that it can be posted to a thread. */
export interface Pulse {
  readonly token: Token;
  readonly lease: Lease;
  /** No checkpoint for this long means that the work hangs; null: never. */
  readonly progressTimeoutMs: number | null;
  /** The `SharedMoments` of the claim. */
  readonly moments: SharedArrayBuffer;
}

export const pulseKey = ({ id, fence }: Token): string => `${id}/${fence}`;

/**
 * Renews any number of leases over one store connection: each at once, then every heartbeat. A renewal that fails for
 * another reason than a lost lease is tried again a quarter of a heartbeat later.
 *
 * A live heart proves little about the work, so a claim without a checkpoint for its progress timeout is given up here,
 * where a hanging main thread cannot prevent it. Its attempt stays counted: work that hangs every time ends as a dead letter.
 */
export class Heart {
  readonly #store: Store;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** `onLost` is called once, if the lease is found lost. */
  start(pulse: Pulse, onLost: (error: LeaseLost) => void): void {
    const key = pulseKey(pulse.token);
    const moments = new SharedMoments(pulse.moments);
    const arm = (delay: number): void => {
      this.#timers.set(key, setTimeout(beat, timerDelay(delay)).unref());
    };
    const beat = async (): Promise<void> => {
      const sentAt = monotonicMs();
      let next = sentAt + pulse.lease.heartbeatMs;
      try {
        await this.#renew(pulse, moments, sentAt);
      } catch (error) {
        if (error instanceof LeaseLost) {
          if (this.#timers.delete(key)) onLost(error);
          return;
        }
        next = monotonicMs() + pulse.lease.heartbeatMs / 4;
      }
      if (!this.#timers.has(key)) return;
      const stalls = moments.progressedAt + (pulse.progressTimeoutMs ?? Number.POSITIVE_INFINITY);
      arm(Math.min(next, stalls) - monotonicMs());
    };
    arm(0);
  }

  stop(token: Token): void {
    const key = pulseKey(token);
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
  }

  async #renew(pulse: Pulse, moments: SharedMoments, sentAt: number): Promise<void> {
    const { token, progressTimeoutMs } = pulse;
    if (progressTimeoutMs === null || sentAt - moments.progressedAt < progressTimeoutMs) {
      await this.#store.heartbeat(token);
      moments.renewedAt = sentAt;
      return;
    }
    await this.#store.orphan(token, 'stalled');
    throw new LeaseLost(
      `No checkpoint of ${token.id} (fence ${token.fence}) for ${progressTimeoutMs} ms: given up as stalled`,
      {
        id: token.id,
        fence: String(token.fence),
        reason: 'stalled',
      },
    );
  }
}
