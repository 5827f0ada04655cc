import type { LeaseRow } from '../types.ts';

interface Observation {
  readonly fence: bigint;
  counter: number;
  counterSince: number;
  wallLeftMs: number | null;
  wallSince: number;
}

/** What is certain about a claim, in milliseconds of the observer's monotonic clock. */
export interface Noted {
  /** Its heartbeat counter has not moved for at least this long. */
  readonly silentMs: number;
  /** At least this much time has passed that no checkpoint has accounted for yet. */
  readonly unaccountedMs: number;
}

/**
 * What one supervisor has seen of the live claims, over its sweeps. Moments are taken on the safe side: after the read that
 * shows something for the first time, before the read that shows it still unchanged.
 */
export class Observations {
  #known = new Map<string, Observation>();
  #met = new Map<string, Observation>();

  beginSweep(): void {
    this.#met = new Map();
  }

  /** Claims that a whole sweep did not meet are no longer live. */
  endSweep(): void {
    this.#known = this.#met;
  }

  note(row: LeaseRow, readFrom: number, readUntil: number): Noted {
    const { id, fence, counter, wallLeftMs } = row;
    const known = this.#known.get(id);
    const seen =
      known?.fence === fence ? known : { fence, counter, counterSince: readUntil, wallLeftMs, wallSince: readUntil };
    if (seen.counter !== counter) Object.assign(seen, { counter, counterSince: readUntil });
    if (seen.wallLeftMs !== wallLeftMs) Object.assign(seen, { wallLeftMs, wallSince: readUntil });
    this.#met.set(id, seen);
    return { silentMs: readFrom - seen.counterSince, unaccountedMs: readFrom - seen.wallSince };
  }

  /** No silence before `now` counts. */
  forgetSilence(now: number): void {
    for (const seen of this.#known.values()) seen.counterSince = now;
    for (const seen of this.#met.values()) seen.counterSince = now;
  }
}
