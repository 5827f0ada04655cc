/** Kernel jobs: long work on `.npy` files that checkpoints between tiles and outlives its worker. */
import type { Store } from '../dhp/types.ts';
import type {
  JobInputs,
  JobOutcome,
  JobSpec,
  JobStatus,
  RunOptions,
  SubmitOptions,
  SubmittedJob,
  TilePlan,
  WorkOptions,
  WorkSummary,
} from './types.ts';

export { JobError, type JobErrorCode } from './errors.ts';
export type * from './types.ts';

export declare function parseSpec(json: unknown): JobSpec;
export declare function submitJob(store: Store, spec: JobSpec, options?: SubmitOptions): Promise<SubmittedJob>;
export declare function planTiles(inputs: JobInputs): TilePlan;
export declare function runJob(store: Store, id: string, options?: RunOptions): Promise<JobOutcome>;
export declare function workLoop(store: Store, options?: WorkOptions): Promise<WorkSummary>;
export declare function jobStatus(store: Store, id: string): Promise<JobStatus>;
