/** How a run of a job ends, other than by its result. */
import { UhopError } from '../../backends/contract.ts';
import { DhpError } from '../dhp/errors.ts';
import { status } from '../dhp/handoff.ts';
import type { ClaimContext } from '../dhp/holder/context.ts';
import type { Handoff, Store } from '../dhp/types.ts';
import { JobError } from './errors.ts';
import { Stopped } from './stop.ts';
import type { JobFailure, JobOutcome } from './types.ts';

/** Errors that no further attempt can mend. */
const HOPELESS: ReadonlySet<string> = new Set(['E_INPUT_CHANGED', 'E_NPY', 'E_SPEC', 'E_RESULT', 'E_SHAPE', 'E_DTYPE']);
/** Errors that say that this worker cannot do the job now, though another may, or this one later: no fault of the job. */
const NOT_NOW: ReadonlySet<string> = new Set(['E_NUMERICS', 'E_BACKEND_UNAVAILABLE', 'E_STORE_FULL']);

const PARKED: ReadonlySet<string> = new Set(['E_BUDGET']);
const LOST: ReadonlySet<string> = new Set(['E_LEASE_LOST']);

/** Gives the claim back as the error demands, and says how the run ended. */
export async function endWith(error: unknown, claim: ClaimContext, store: Store): Promise<JobOutcome> {
  const { id } = claim;
  if (isCode(error, PARKED)) return parked(await status(store, id));
  if (claim.signal.aborted || isCode(error, LOST)) return lost(await status(store, id));
  try {
    const stopped = stopOf(error);
    if (stopped !== null) return await release(claim, stopped.reason);
    if (isCode(error, NOT_NOW)) return await release(claim, describe(failureOf(error)));
    const handoff = await claim.fail(error, { retryable: !isCode(error, HOPELESS) });
    return handoff.state === 'dead' ? parked(handoff) : { outcome: 'failed', id, error: failureOf(error) };
  } catch (second) {
    if (isCode(second, LOST)) return lost(await status(store, id));
    throw error;
  }
}

async function release(claim: ClaimContext, reason: string): Promise<JobOutcome> {
  const handoff = await claim.release(reason);
  return handoff.state === 'dead' ? parked(handoff) : { outcome: 'released', id: claim.id, reason };
}

function describe({ message, code }: JobFailure): string {
  return `${message} [${code}]`;
}

/** The outcome of a job that is dead. */
export function parked({ id, reason, error }: Handoff): JobOutcome {
  return { outcome: 'parked', id, reason: reason ?? 'parked', error: error === null ? null : failureOf(error) };
}

function lost(handoff: Handoff): JobOutcome {
  return handoff.state === 'dead' ? parked(handoff) : { outcome: 'lost', id: handoff.id, state: handoff.state };
}

/** A stop, thrown between tiles or as the cause of an abort inside one. */
function stopOf(error: unknown): Stopped | null {
  if (error instanceof Stopped) return error;
  return error instanceof UhopError && error.cause instanceof Stopped ? error.cause : null;
}

/** Whether it is an error of this package with one of these codes. */
export function isCode(error: unknown, codes: ReadonlySet<string>): boolean {
  return isKnown(error) && codes.has(error.code);
}

export function isKnown(error: unknown): error is JobError | DhpError | UhopError {
  return error instanceof JobError || error instanceof DhpError || error instanceof UhopError;
}

/** An error, or what a store kept of one. */
export function failureOf(error: unknown): JobFailure {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return { code: typeof code === 'string' ? code : 'E_UNKNOWN', message: String(message ?? error) };
}
