/**
 * One run of a job:
 *
 *   look     stored job → plan → path; what cannot be done here is not claimed, so a refusal costs no attempt
 *   claim    pending, orphaned, or held by a process of this host that is dead
 *   open     every input is opened and hashed; a changed one is refused before any work
 *   recall   the chain of checkpoints says which tiles are done
 *   compute  the missing tiles, a checkpoint after each
 *   assemble the output file; tiles whose blobs turn out damaged are computed once more
 *   complete the result, checked by the output schema
 *
 * and its ends: completed; released (a stop was asked for: no attempt is lost and another worker goes on at once); failed
 * (another attempt may follow); parked (no attempt is left, or none can help); lost (the claim is no longer ours).
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { acquire } from '../dhp/claim.ts';
import { status } from '../dhp/handoff.ts';
import type { ClaimContext } from '../dhp/holder/context.ts';
import type { Json, Store } from '../dhp/types.ts';
import { assemble } from './assemble.ts';
import { type DoneTile, doneTiles, identityOf } from './chain.ts';
import { completedResult } from './completed.ts';
import { JobError } from './errors.ts';
import { endWith, isCode, parked } from './ends.ts';
import { JobFiles } from './inputs.ts';
import { readJob, type StoredJob } from './job.ts';
import { Loader, type PinnedFile } from './loader.ts';
import { choosePath, type JobPath } from './paths.ts';
import { outputBytes } from './result.ts';
import { Stopped, stopSignals } from './stop.ts';
import { computeTiles, recallTiles, type Run } from './tiles.ts';
import type { JobEvent, JobOutcome, JobResult, Provenance, RunOptions } from './types.ts';

const DEFAULT_GRACE_MS = 5000;
const NOT_CLAIMABLE: ReadonlySet<string> = new Set(['E_STATE', 'E_BUDGET']);

/**
 * Claims a job and works until it is completed, released, failed, parked or lost. A job that is completed or parked already
 * resolves as such; of a completed one an output file that is gone or changed is assembled again from the stored tiles, or
 * `E_OUTPUT` says why it cannot be. Rejects without having claimed it: `E_NOT_FOUND`; `E_STATE` when somebody else holds it or it is at an end;
 * `E_BACKEND_UNAVAILABLE`, `E_NUMERICS` or `E_OUT_OF_MEMORY` when it cannot be done here. Rejects with the store's error when
 * the store fails: then the claim stays until it expires, and nothing that was checkpointed is lost.
 */
export async function runJob(store: Store, id: string, options: RunOptions = {}): Promise<JobOutcome> {
  const { onEvent: emit = () => {}, signal, graceMs = DEFAULT_GRACE_MS } = options;
  const handoff = await status(store, id);
  if (handoff.state === 'completed') {
    const result = await completedResult(store, handoff, emit, signal ?? new AbortController().signal);
    return tell(emit, { outcome: 'completed', id, result });
  }
  const job = readJob(handoff);
  await pathFor(job, store, options);
  if (signal?.aborted) return tell(emit, { outcome: 'released', id, reason: new Stopped(signal).reason });
  await using claim = await take(store, id, options);
  if (claim === null) return tell(emit, parked(await status(store, id)));
  using stop = stopSignals(claim.signal, signal, graceMs);
  try {
    const result = await work({ job, store, claim, stop, emit }, options);
    return tell(emit, { outcome: 'completed', id, result });
  } catch (error) {
    return tell(emit, await endWith(error, claim, store));
  }
}

/** The claim; null when the job is parked, which asking for a claim may bring about. */
async function take(store: Store, id: string, options: RunOptions): Promise<ClaimContext | null> {
  try {
    return await acquire(store, id, { ...leaseOptions(options), workerId: options.workerId ?? workerName() });
  } catch (error) {
    if (isCode(error, NOT_CLAIMABLE) && (await status(store, id)).state === 'dead') return null;
    throw error;
  }
}

/** The path this worker would compute a job on; throws when it cannot. */
export async function pathFor(job: StoredJob, store: Store, { backend }: RunOptions): Promise<JobPath> {
  const last = job.inputs.numerics === 'exact' ? await store.lastCheckpoint(job.id) : null;
  const begun = last && doneTiles([last], job.plan).values().next().value?.provenance;
  return choose(job, begun ?? null, backend);
}

async function work(run: Omit<Run, 'done'>, options: RunOptions): Promise<JobResult> {
  const { job, claim, stop, emit } = run;
  stop.now.throwIfAborted();
  await using files = await JobFiles.openPinned(job.inputs.files, stop.now);
  const done = await recallTiles(run);
  const path = await choose(job, done.values().next().value?.provenance ?? null, options.backend);
  emit({ type: 'started', id: job.id, tiles: job.plan.tiles, reused: done.size });
  const sha256 = await finish({ ...run, done }, files, path);
  const result = summarize(job, done, sha256);
  await claim.complete(result as unknown as Json);
  return result;
}

/** Computes what is missing and assembles; a tile that is damaged twice in one run is more than a damaged tile. */
async function finish(run: Run, files: JobFiles, path: JobPath): Promise<string> {
  const { job, store, claim, stop, done, emit } = run;
  const { files: pinned, output } = job.inputs;
  const loader = new Loader(job.call, job.names.map(fileOf), 'bias' in pinned ? fileOf('bias') : null);
  const redone = new Set<number>();
  for (;;) {
    await computeTiles(run, loader, path);
    stop.now.throwIfAborted();
    emit({ type: 'assembling', id: job.id, output });
    const assembled = await assemble({
      id: job.id,
      fence: claim.fence,
      plan: job.plan,
      output,
      inputs: Object.values(pinned).map((file) => file.path),
      done,
      blobs: store.blobs,
      signal: stop.halt,
    });
    if ('sha256' in assembled) return assembled.sha256;
    for (const { index, code } of assembled.damaged) {
      if (redone.has(index))
        throw new JobError(
          'E_BLOB',
          `tile ${index} was stored twice and damaged twice (${code}); check the store's disk`,
        );
      redone.add(index);
      done.delete(index);
      emit({ type: 'tile-damaged', id: job.id, index, code });
    }
  }

  function fileOf(name: string): PinnedFile {
    return { file: files.named(name), sha256: (pinned[name] as { sha256: string }).sha256 };
  }
}

function summarize(job: StoredJob, done: ReadonlyMap<number, DoneTile>, sha256: string): JobResult {
  const provenances = [...done.values()].map(({ provenance }) => provenance);
  return {
    output: job.inputs.output,
    sha256,
    bytes: outputBytes(job.plan),
    shape: job.plan.outShape,
    dtype: job.plan.dtype,
    tiles: job.plan.tiles,
    numericsChanged: new Set(provenances.map(identityOf)).size > 1,
    paths: [...new Set(provenances.map(({ path }) => path))].toSorted(),
  };
}

function tell(emit: (event: JobEvent) => void, outcome: JobOutcome): JobOutcome {
  const { outcome: type, ...rest } = outcome;
  emit({ type, ...rest } as JobEvent);
  return outcome;
}

function choose(job: StoredJob, begun: Provenance | null, backend: string | undefined): Promise<JobPath> {
  const { tile, numerics } = job.inputs;
  return choosePath({ call: job.call, plan: job.plan, tile, numerics, begun, backend });
}

function leaseOptions({ ttlMs, heartbeatMs, progressTimeoutMs }: RunOptions): Partial<RunOptions> {
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(heartbeatMs !== undefined && { heartbeatMs }),
    ...(progressTimeoutMs !== undefined && { progressTimeoutMs }),
  };
}

/** A name for people, of one worker of one process. */
export function workerName(): string {
  return `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
}
