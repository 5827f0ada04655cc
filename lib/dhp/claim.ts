import { monotonicMs } from './clock.ts';
import { DhpError } from './errors.ts';
import { ClaimContext } from './holder/context.ts';
import { type LeaseOptions, leaseOf } from './holder/lease.ts';
import { takeSeat } from './holder/seat.ts';
import { liveness, thisProcess } from './process.ts';
import { trigger } from './trigger.ts';
import type { Store } from './types.ts';

export interface ClaimOptions extends LeaseOptions {
  /** For people and logs; ownership hangs on the fence alone. */
  readonly workerId: string;
  /** Without a checkpoint for this long the work is given up as `stalled`, even while this thread hangs. Default: never. */
  readonly progressTimeoutMs?: number;
  /** Aborts the context's signal too. Writes stay possible: a drain ends with a checkpoint and a release. */
  readonly signal?: AbortSignal;
}

/**
 * Claims a pending handoff and keeps the lease renewed until the context ends. Counts an attempt. `E_STATE` when it is not
 * pending (of a completed one `status` holds the result), `E_BUDGET` when no attempt is left, `E_ARGUMENT` for lease times
 * that do not fit.
 */
export function claim(store: Store, id: string, options: ClaimOptions): Promise<ClaimContext> {
  return take('claim', store, id, options);
}

/** Takes over an orphaned handoff, in the same way. */
export function recover(store: Store, id: string, options: ClaimOptions): Promise<ClaimContext> {
  return take('recover', store, id, options);
}

/** How often the row may change under `acquire` before it gives up. */
const MAX_TRIES = 3;

/**
 * Claims or recovers, whichever the handoff needs. Work whose holder was a process of this host that has died is taken over
 * at once, without waiting for a supervisor or the TTL. `E_STATE` when somebody else holds it or it is at an end.
 */
export async function acquire(store: Store, id: string, options: ClaimOptions): Promise<ClaimContext> {
  for (let tries = 1; ; tries += 1) {
    await reapDead(store, id);
    const state = (await store.get(id))?.state;
    try {
      return await take(state === 'orphaned' ? 'recover' : 'claim', store, id, options);
    } catch (error) {
      const moved = error instanceof DhpError && error.code === 'E_STATE' && (await store.get(id))?.state !== state;
      if (!moved || tries === MAX_TRIES) throw error;
    }
  }
}

/**
 * Orphans a claim whose process, on this host, is dead for certain (reason `worker-died`). False when there is nothing to
 * do, when it cannot be told, or when somebody else was first.
 */
export async function reapDead(store: Store, id: string): Promise<boolean> {
  const handoff = await store.get(id);
  if (handoff === null || handoff.holder === null || liveness(handoff.holder) !== 'dead') return false;
  return store.orphan({ id, fence: handoff.fence }, 'worker-died');
}

async function take(how: 'claim' | 'recover', store: Store, id: string, options: ClaimOptions): Promise<ClaimContext> {
  const { workerId, signal, progressTimeoutMs = null } = options;
  signal?.throwIfAborted();
  const lease = leaseOf(options);
  if (progressTimeoutMs !== null && !(progressTimeoutMs > 0)) {
    throw new DhpError(
      'E_ARGUMENT',
      `progressTimeoutMs is ${progressTimeoutMs}; expected more than 0, or leave it out`,
    );
  }
  const seat = await takeSeat(store);
  try {
    const sentAt = monotonicMs();
    const handoff = await store[how](id, thisProcess(workerId), lease);
    const context = new ClaimContext(store, handoff, seat, { workerId, sentAt, progressTimeoutMs, signal });
    trigger('claim:after');
    return context;
  } catch (error) {
    seat.leave();
    throw error;
  }
}
