/**
 * The tiles of one claim: load → compute → verify → blob → checkpoint, until none is missing.
 * Trigger points: tile:start, tile:loaded, tile:computed.
 */
import { performance } from 'node:perf_hooks';
import type { ResultTensor } from '../../backends/contract.ts';
import type { ClaimContext } from '../dhp/holder/context.ts';
import { trigger } from '../dhp/trigger.ts';
import type { Json, Store, Usage } from '../dhp/types.ts';
import { blobName, type DoneTile, doneTiles, missingTiles, tileState } from './chain.ts';
import { bytesOf, compute } from './compute.ts';
import { isDamage, JobError } from './errors.ts';
import type { StoredJob } from './job.ts';
import type { LoadedTile, Loader } from './loader.ts';
import type { JobPath } from './paths.ts';
import type { StopSignals } from './stop.ts';
import type { JobEvent, Provenance } from './types.ts';
import { agree, secondPath } from './verify.ts';
import { PACKAGE_VERSION } from './version.ts';

/** A claimed job in work. `done` grows with every checkpoint. */
export interface Run {
  readonly job: StoredJob;
  readonly store: Store;
  readonly claim: ClaimContext;
  readonly stop: StopSignals;
  readonly done: Map<number, DoneTile>;
  readonly emit: (event: JobEvent) => void;
}

const MAX_COMPUTATIONS = 2;

/**
 * The tiles that the chain of checkpoints holds, and those that stood behind a damaged checkpoint, which are put into the
 * chain again. One whose blob is gone or damaged is told of and left out, so that it is computed again. Of the blobs, only
 * the newest and those put in again are read here; the others are looked for, and read when the output is assembled.
 */
export async function recallTiles(run: Omit<Run, 'done'>): Promise<Map<number, DoneTile>> {
  const { job, store, claim, stop, emit } = run;
  const { records, cutOff } = await claim.restoreChain();
  const done = doneTiles(records, job.plan);
  await claim.restore();
  for (const [index, { blob }] of done) {
    if (await store.blobs.has(blob.sha256)) continue;
    done.delete(index);
    emit({ type: 'tile-damaged', id: job.id, index, code: 'E_BLOB_MISSING' });
  }
  for (const [index, { blob, provenance }] of doneTiles(cutOff, job.plan)) {
    stop.now.throwIfAborted();
    try {
      const bytes = await store.blobs.get(blob.sha256);
      if (!done.has(index)) await keep({ ...run, done }, index, provenance, bytes, { steps: 0, wall_ms: 0 });
    } catch (error) {
      if (!isDamage(error)) throw error;
      emit({ type: 'tile-damaged', id: job.id, index, code: error.code });
    }
  }
  return done;
}

/** Computes every tile that is not done. While one is computed the next is read. */
export async function computeTiles(run: Run, loader: Loader, path: JobPath): Promise<void> {
  const { job, done, stop } = run;
  const missing = missingTiles(job.plan, done);
  const begin = (): Promise<LoadedTile> | null => {
    const next = missing.next();
    return next.done === true ? null : loader.load(job.plan.tile(next.value));
  };
  let loading = begin();
  try {
    while (loading !== null) {
      stop.now.throwIfAborted();
      trigger('tile:start');
      const loaded = await loading;
      trigger('tile:loaded');
      loading = begin();
      // Looked at in its turn; until then a failed read must not count as unhandled.
      loading?.catch(() => {});
      await computeTile(run, loaded, path);
    }
  } finally {
    await loading?.catch(() => {});
  }
}

async function computeTile(run: Run, loaded: LoadedTile, { path, device }: JobPath): Promise<void> {
  const { job, done, emit } = run;
  const { index } = loaded.tile;
  emit({ type: 'tile-started', id: job.id, index });
  const started = performance.now();
  const result = job.inputs.verify === 'none' ? await once(run, loaded, path.id) : await twice(run, loaded, path.id);
  const ms = performance.now() - started;
  trigger('tile:computed');
  const provenance: Provenance = {
    path: result.path,
    isa: path.isa ?? null,
    kernel: path.kernel ?? null,
    device: device?.name ?? null,
    driver: device?.versions.driver ?? null,
    version: PACKAGE_VERSION,
    ms,
  };
  const bytes = bytesOf(result);
  await keep(run, index, provenance, bytes);
  emit({
    type: 'tile',
    id: job.id,
    index,
    of: job.plan.tiles,
    done: done.size,
    ms,
    path: result.path,
    bytes: bytes.byteLength,
  });
}

/** Makes a tile durable. `usage` where it is other than the time since the checkpoint before. */
async function keep(
  { claim, done }: Run,
  index: number,
  provenance: Provenance,
  bytes: Uint8Array,
  usage: Partial<Usage> = {},
): Promise<void> {
  const state = tileState(index, provenance, done);
  const blobs = { [blobName(index)]: bytes };
  const record = await claim.checkpoint(state as unknown as Json, { blobs, usage });
  for (const blob of record.blobs) done.set(index, { blob, provenance });
}

function once({ job, stop }: Run, loaded: LoadedTile, path: string): Promise<ResultTensor> {
  return compute(job.call.op, loaded, path, stop.halt);
}

/** A result that a second computation agrees with; `E_VERIFY` when there is none. */
async function twice(run: Run, loaded: LoadedTile, path: string): Promise<ResultTensor> {
  const { job, stop, emit } = run;
  const { index } = loaded.tile;
  const check = secondPath(job.call, loaded, path);
  for (let computed = 1; computed <= MAX_COMPUTATIONS; computed++) {
    const result = await once(run, loaded, path);
    if (await agree(job.call, loaded, [result, await once(run, loaded, check)], path, stop.halt)) return result;
    emit({ type: 'tile-mismatch', id: job.id, index, paths: [path, check] });
  }
  throw new JobError(
    'E_VERIFY',
    `tile ${index}: ${path} and ${check} disagree beyond the tolerance of ${job.call.op}`,
    {
      index,
      paths: [path, check],
    },
  );
}
