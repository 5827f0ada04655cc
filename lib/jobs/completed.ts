import type { Handoff, Store } from '../dhp/types.ts';
import { assemble } from './assemble.ts';
import { doneTiles, readableChain } from './chain.ts';
import { JobError } from './errors.ts';
import { NpyFile } from './files.ts';
import { readJob } from './job.ts';
import type { JobEvent, JobResult } from './types.ts';

/**
 * The result of a job that is completed already. Its output file is there and has the bytes that the result tells of, or is
 * assembled once more from the tiles that the store keeps; `E_OUTPUT` when it cannot be.
 */
export async function completedResult(
  store: Store,
  handoff: Handoff,
  emit: (event: JobEvent) => void,
  signal: AbortSignal,
): Promise<JobResult> {
  const result = handoff.result as unknown as JobResult;
  const { id, fence } = handoff;
  const { output, sha256 } = result;
  if (await isThere(result, signal)) return result;
  const { inputs, plan } = readJob(handoff);
  const done = doneTiles(await readableChain(store, id), plan);
  if (done.size === plan.tiles) {
    emit({ type: 'assembling', id, output });
    const files = Object.values(inputs.files).map(({ path }) => path);
    const { blobs } = store;
    const again = await assemble({ id, fence, plan, output, inputs: files, done, blobs, signal, expected: sha256 });
    if ('sha256' in again) return result;
  }
  throw new JobError(
    'E_OUTPUT',
    `the job was completed, but ${output} is gone or changed since, and the store no longer holds all of its tiles`,
    { path: output, hint: 'give the spec a "nonce" to compute it anew' },
  );
}

async function isThere({ output, sha256 }: JobResult, signal: AbortSignal): Promise<boolean> {
  try {
    await using file = await NpyFile.open(output);
    return (await file.hash(signal)) === sha256;
  } catch (error) {
    if (error instanceof JobError) return false;
    throw error;
  }
}
