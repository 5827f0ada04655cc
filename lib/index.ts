/** The public face of U-HOP. */
export type {
  Activation,
  Call,
  Device,
  DType,
  ErrorCode,
  Path,
  Precision,
  Reason,
  ResultTensor,
  Tensor,
  TensorData,
} from '../backends/contract.ts';
export { UhopError } from '../backends/contract.ts';
export { decodeHalf, encodeHalf, type HalfType } from '../backends/half.ts';
export {
  type AsyncOptions,
  type Conv2dOptions,
  type Conv2dSyncOptions,
  conv2d,
  conv2dSync,
  devices,
  type ExplainOptions,
  type Explanation,
  explain,
  type MatmulOptions,
  type MatmulSyncOptions,
  matmul,
  matmulSync,
  type PassedOver,
  type RankedPath,
  type ReluOptions,
  type ReluSyncOptions,
  relu,
  reluSync,
  type SyncOptions,
} from './dispatch/index.ts';
export {
  type InputFile,
  type JobAttrs,
  type JobDType,
  JobError,
  type JobErrorCode,
  type JobEvent,
  type JobFailure,
  type JobInputs,
  type JobOp,
  type JobOutcome,
  type JobResult,
  type JobSpec,
  type JobStatus,
  jobStatus,
  parseSpec,
  planTiles,
  type RunOptions,
  runJob,
  type SubmitOptions,
  type SubmittedJob,
  submitJob,
  type Tile,
  type TilePlan,
  type TileSize,
  type WorkOptions,
  type WorkSummary,
  workLoop,
} from './jobs/index.ts';
export type { Padding } from './ops/padding.ts';
export { type DescribeOptions, type Plan, plan, type ShapeOrTensor } from './ops/plan.ts';
export { isWithin, type Tolerance, tolerance } from './ops/tolerance.ts';
export { type PrepackedTensor, prepack } from './prepack.ts';
export { type DataInput, type TensorLike, tensor } from './tensor.ts';
