import type { Call } from '../../backends/contract.ts';
import type { Handoff } from '../dhp/types.ts';
import { describeJob } from './call.ts';
import { JobError } from './errors.ts';
import { planCall } from './plan.ts';
import type { JobInputs, JobOp, TilePlan } from './types.ts';

const KIND_PREFIX = 'uhop.';

/** The task kind that jobs of an op are dispatched under. */
export function taskKind(op: JobOp): string {
  return `${KIND_PREFIX}${op}`;
}

/** The op of a task kind; null when it is not a kernel job's. */
export function opOfKind(kind: string): JobOp | null {
  const op = kind.startsWith(KIND_PREFIX) ? kind.slice(KIND_PREFIX.length) : '';
  return op === 'matmul' || op === 'conv2d' || op === 'relu' ? op : null;
}

/** A job read back from its handoff. */
export interface StoredJob {
  readonly id: string;
  readonly inputs: JobInputs;
  readonly call: Call;
  /** File names in the order of the call's inputs. */
  readonly names: readonly string[];
  readonly plan: TilePlan;
}

/** `E_SPEC` when the handoff is not a kernel job, or one of a later version. */
export function readJob({ id, intent }: Handoff): StoredJob {
  const inputs = intent.inputs as Partial<JobInputs> | null;
  const op = opOfKind(intent.task_kind);
  if (op === null || inputs?.op !== op || inputs.v !== 1) {
    const got = `task kind '${intent.task_kind}', version ${String(inputs?.v)}`;
    throw new JobError('E_SPEC', `${id} is not a kernel job of version 1: got ${got}`, { id });
  }
  const stored = inputs as JobInputs;
  const { call, names } = describeJob(op, stored.files, stored.attrs);
  return { id, inputs: stored, call, names, plan: planCall(call, stored.tile) };
}
