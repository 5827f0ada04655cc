/** Kernel jobs: long work on `.npy` files that checkpoints between tiles and outlives its worker. */
export { JobError, type JobErrorCode } from './errors.ts';
export { planTiles } from './plan.ts';
export { runJob } from './runner.ts';
export { parseSpec } from './spec.ts';
export { jobStatus } from './status.ts';
export { submitJob } from './submit.ts';
export type * from './types.ts';
export { workLoop } from './worker.ts';
