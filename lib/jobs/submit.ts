import { resolve } from 'node:path';
import { limits } from '../../backends/limits.ts';
import { dispatch, everyHandoff } from '../dhp/handoff.ts';
import { canonical } from '../dhp/protocol/canonical.ts';
import { type IntentRequest, makeIntent } from '../dhp/protocol/ids.ts';
import type { Budget, Handoff, Intent, Json, State, Store } from '../dhp/types.ts';
import { describeJob } from './call.ts';
import { JobFiles } from './inputs.ts';
import { readJob, taskKind } from './job.ts';
import { checkOutput } from './output.ts';
import { expectedSeconds } from './paths.ts';
import { planCall } from './plan.ts';
import { resultSchema } from './result.ts';
import { chooseTile } from './size.ts';
import { parseSpec } from './spec.ts';
import type { InputFile, JobInputs, JobSpec, SubmitOptions, SubmittedJob, TileSize } from './types.ts';

/** Where the spec says nothing: a job that dies without a new tile is given up after three claims; one that gets on goes on. */
const JOB_BUDGET: Partial<Budget> = { max_attempts: 1_000_000, max_attempts_without_progress: 3 };

const DEFAULT_TILE_MEMORY = 256 * 1024 * 1024;

/**
 * Checks a job whole and puts it up for workers: reads every header, hashes every input, and resolves paths and tile sizes,
 * so that what is stored decides the output. The same job again is the same handoff, also where tile sizes that the spec leaves open
 * would be chosen otherwise now.
 * Errors: `E_SPEC`, `E_INPUT`, `E_NPY`, `E_OUTPUT`, and those of the op for shapes and dtypes that do not fit.
 */
export async function submitJob(store: Store, spec: JobSpec, options: SubmitOptions = {}): Promise<SubmittedJob> {
  const { op, attrs = {}, output, tile = {}, verify = 'none', numerics = 'tolerant', budget, nonce } = parseSpec(spec);
  const {
    cwd = process.cwd(),
    tileMemoryBytes = Math.min(DEFAULT_TILE_MEMORY, limits().memoryBytes / 8),
    signal,
  } = options;
  const paths = Object.fromEntries(Object.entries(spec.inputs).map(([name, path]) => [name, resolve(cwd, path)]));
  const target = resolve(cwd, output);
  await using files = await JobFiles.open(paths);
  const headers = Object.fromEntries([...files.byName].map(([name, file]) => [name, file.header]));
  const { call } = describeJob(op, headers, attrs);
  const size = chooseTile(call, tile, expectedSeconds(call), tileMemoryBytes);
  const plan = planCall(call, size);
  await checkOutput(target, Object.values(paths));
  const inputs: JobInputs = {
    v: 1,
    op,
    files: await pin(files, signal),
    attrs,
    output: target,
    tile: size,
    verify,
    numerics,
  };
  const request: IntentRequest = {
    taskKind: taskKind(op),
    inputs: inputs as unknown as Json,
    outputSchema: resultSchema(target, plan),
    budget: { ...JOB_BUDGET, ...budget },
    ...(nonce !== undefined && { nonce }),
  };
  const earlier = options.tileMemoryBytes === undefined ? await sameJob(store, makeIntent(request), tile) : null;
  if (earlier !== null) return { id: earlier.id, created: false, plan: readJob(earlier).plan };
  const { id, created } = await dispatch(store, request);
  return { id, created, plan };
}

/**
 * A job that differs in nothing but tile sizes which its spec left open. The sizes come from what a machine expects of itself,
 * and another machine, or this one on another day, must go on with the tiles that are there.
 */
async function sameJob(store: Store, intent: Intent, given: TileSize): Promise<Handoff | null> {
  const wanted = withoutTiles(intent);
  const state: readonly State[] = ['pending', 'claimed', 'orphaned', 'completed', 'dead'];
  for await (const handoff of everyHandoff(store, { taskKind: intent.task_kind, state })) {
    if (withoutTiles(handoff.intent) !== wanted) continue;
    const { tile } = handoff.intent.inputs as unknown as JobInputs;
    if (Object.entries(given).every(([axis, extent]) => tile[axis as keyof TileSize] === extent)) return handoff;
  }
  return null;
}

/** The intent in canonical form, less its tile sizes and the schema that counts the tiles. */
function withoutTiles(intent: Intent): string {
  return canonical({ ...intent, output_schema: null, inputs: { ...(intent.inputs as object), tile: null } });
}

async function pin(files: JobFiles, signal?: AbortSignal): Promise<Record<string, InputFile>> {
  const pinned: Record<string, InputFile> = {};
  for (const [name, file] of files.byName) {
    const { dtype, shape } = file.header;
    pinned[name] = { path: file.path, sha256: await file.hash(signal), bytes: file.bytes, dtype, shape };
  }
  return pinned;
}
