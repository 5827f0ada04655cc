/**
 * The tiles of one claim: load → compute → verify → blob → checkpoint, until none is missing.
 * Trigger points: tile:start, tile:loaded, tile:computed.
 */
import { performance } from 'node:perf_hooks';
import type { ResultTensor } from '../../backends/contract.ts';
import type { ClaimContext } from '../dhp/holder/context.ts';
import { trigger } from '../dhp/trigger.ts';
import type { Json, Store } from '../dhp/types.ts';
import { blobName, type DoneTile, doneTiles, missingTiles, tileState } from './chain.ts';
import { bytesOf, compute } from './compute.ts';
import { JobError } from './errors.ts';
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
 * The tiles that the chain of checkpoints holds. One whose blob is gone or damaged is told of and left out, so that it is
 * computed again; a damaged newest checkpoint is quarantined on the way. Blobs of earlier tiles are read when the output is
 * assembled, and only looked for here.
 */
export async function recallTiles({ job, store, claim, emit }: Omit<Run, 'done'>): Promise<Map<number, DoneTile>> {
  const before = doneTiles(await store.checkpoints(job.id), job.plan);
  const head = claim.handoff.head;
  await claim.restore();
  const done = claim.handoff.head === head ? before : doneTiles(await store.checkpoints(job.id), job.plan);
  for (const index of before.keys()) {
    if (!done.has(index)) emit({ type: 'tile-damaged', id: job.id, index, code: 'E_CHECKPOINT_CORRUPT' });
  }
  for (const [index, { blob }] of done) {
    if (await store.blobs.has(blob.sha256)) continue;
    done.delete(index);
    emit({ type: 'tile-damaged', id: job.id, index, code: 'E_BLOB_MISSING' });
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
  const { job, claim, done, emit } = run;
  const { index } = loaded.tile;
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
  const state = tileState(index, provenance, done);
  const record = await claim.checkpoint(state as unknown as Json, { blobs: { [blobName(index)]: bytes } });
  for (const blob of record.blobs) done.set(index, { blob, provenance });
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
