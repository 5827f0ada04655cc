import { status } from '../dhp/handoff.ts';
import type { CheckpointRecord, Store } from '../dhp/types.ts';
import { readableChain } from './chain.ts';
import { failureOf } from './ends.ts';
import { readJob } from './job.ts';
import type { JobResult, JobStatus, TileState } from './types.ts';

/** How many checkpoints the rate is taken over. */
const RATE_WINDOW = 16;

/** Where a job stands; `E_NOT_FOUND` when there is none of that id, `E_SPEC` when it is not a kernel job. */
export async function jobStatus(store: Store, id: string): Promise<JobStatus> {
  const handoff = await status(store, id);
  const { inputs, plan } = readJob(handoff);
  const { state, reason, seq, attempts, releases, holder } = handoff;
  const last = seq === 0 ? null : await store.lastCheckpoint(id);
  const recent = await readableChain(store, id, Math.max(1, seq - RATE_WINDOW + 1));
  return {
    id,
    op: inputs.op,
    state,
    reason,
    output: inputs.output,
    tiles: { done: (last?.state as TileState | undefined)?.done ?? 0, total: plan.tiles },
    rate: rateOf(recent.filter(({ fence }) => fence === String(handoff.fence))),
    attempts,
    releases,
    holder,
    result: handoff.result as JobResult | null,
    error: handoff.error === null ? null : failureOf(handoff.error),
  };
}

/** Tiles per second between the first and the last of some checkpoints of one attempt. */
function rateOf(records: readonly CheckpointRecord[]): number | null {
  const [first, last] = [records.at(0), records.at(-1)];
  if (first === undefined || last === undefined) return null;
  const seconds = (Date.parse(last.ts) - Date.parse(first.ts)) / 1000;
  return seconds > 0 ? (records.length - 1) / seconds : null;
}
