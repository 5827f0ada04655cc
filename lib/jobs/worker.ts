import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { reapDead } from '../dhp/claim.ts';
import { DhpError } from '../dhp/errors.ts';
import { everyHandoff } from '../dhp/handoff.ts';
import { thisProcess } from '../dhp/process.ts';
import type { Handoff, Store } from '../dhp/types.ts';
import { failureOf, isKnown } from './ends.ts';
import { opOfKind, readJob } from './job.ts';
import { assertUsable } from './paths.ts';
import { pathFor, runJob, workerName } from './runner.ts';
import type { JobOp, JobOutcome, WorkOptions, WorkSummary } from './types.ts';

const DEFAULT_POLL_MS = 1000;
/** A job that did not end well is left alone for this long, twice as long each further time. */
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 60_000;
type Mine = WorkOptions & { readonly workerId: string };

const ALL: readonly JobOp[] = ['matmul', 'conv2d', 'relu'];

/**
 * Takes one job after the other that this worker can do, oldest first, until `signal` aborts or, with `until: 'idle'`, there is
 * none left to take. A job it cannot do (op, dtype, memory, backend, numerics) is left for others and costs no attempt; a job
 * that fails is left alone for a while, so that it never stops the others. While the store is full or locked it waits. Rejects with
 * `E_BACKEND_UNAVAILABLE` when a forced backend is not there (such a worker would wait for ever), and with the store's error when
 * the store fails otherwise or, with `until: 'idle'`, in any way.
 */
export async function workLoop(store: Store, options: WorkOptions = {}): Promise<WorkSummary> {
  const { signal, pollMs = DEFAULT_POLL_MS, until = 'signal', workerId = workerName() } = options;
  const summary = { completed: 0, released: 0, failed: 0, parked: 0, lost: 0 };
  const pauses = new Pauses();
  const mine = { ...options, workerId };
  let wait = pollMs;
  await assertUsable(options.backend);
  for (;;) {
    if (signal?.aborted) return summary;
    let id: string | null = null;
    try {
      id = await findJob(store, mine, pauses);
      wait = pollMs;
    } catch (error) {
      if (until === 'idle' || !passes(error)) throw error;
      options.onEvent?.({ type: 'waiting', error: failureOf(error) });
      wait = Math.min(LAST_PAUSE_MS, 2 * wait);
    }
    if (id !== null) {
      const outcome = await attempt(store, id, mine);
      if (outcome === 'completed') pauses.forget(id);
      else pauses.extend(id);
      if (outcome !== null) summary[outcome] += 1;
    } else if (until === 'idle') {
      return summary;
    } else {
      await sleep(wait, undefined, signal && { signal }).catch(() => {});
    }
  }
}

/** How a job ended; null when somebody else was first, or when it could not be begun, which an event has told. */
async function attempt(store: Store, id: string, options: WorkOptions): Promise<JobOutcome['outcome'] | null> {
  try {
    return (await runJob(store, id, options)).outcome;
  } catch (error) {
    if (!isKnown(error)) throw error;
    if (error.code !== 'E_STATE' && error.code !== 'E_BUDGET') {
      options.onEvent?.({ type: 'failed', id, error: failureOf(error) });
    }
    return null;
  }
}

/** The oldest job that can be claimed and done here; null when there is none. */
async function findJob(store: Store, options: Mine, pauses: Pauses): Promise<string | null> {
  const kinds = options.kinds ?? ALL;
  for await (const handoff of everyHandoff(store, { state: ['pending', 'orphaned', 'claimed'] })) {
    const op = opOfKind(handoff.intent.task_kind);
    if (op === null || !kinds.includes(op) || pauses.holds(handoff.id)) continue;
    if ((await isFree(store, handoff, options.workerId)) && (await canDo(store, handoff, options))) return handoff.id;
  }
  return null;
}

/**
 * A claim of this very worker is free as well: the worker does one job at a time, so it let go of this one when the store
 * would not even take the release.
 */
async function isFree(store: Store, { id, state, fence, holder }: Handoff, workerId: string): Promise<boolean> {
  if (state !== 'claimed') return true;
  const isOwn = isDeepStrictEqual(holder, thisProcess(workerId));
  return isOwn ? store.orphan({ id, fence }, 'abandoned') : reapDead(store, id);
}

/** Trouble of the store that passes by itself, or when somebody makes room. */
function passes(error: unknown): boolean {
  if (!(error instanceof DhpError)) return false;
  return error.code === 'E_STORE_FULL' || (error.code === 'E_STORE' && error.details['busy'] === true);
}

async function canDo(store: Store, handoff: Handoff, options: WorkOptions): Promise<boolean> {
  try {
    await pathFor(readJob(handoff), store, options);
    return true;
  } catch (error) {
    if (error instanceof DhpError) throw error;
    return false;
  }
}

/** Jobs that are left alone for a while. */
class Pauses {
  readonly #until = new Map<string, { readonly at: number; readonly ms: number }>();

  holds(id: string): boolean {
    return (this.#until.get(id)?.at ?? 0) > performance.now();
  }

  extend(id: string): void {
    const ms = Math.min(LAST_PAUSE_MS, 2 * (this.#until.get(id)?.ms ?? FIRST_PAUSE_MS / 2));
    this.#until.set(id, { at: performance.now() + ms, ms });
  }

  forget(id: string): void {
    this.#until.delete(id);
  }
}
