/** `uhop/dhp`: durable handoffs. */
export * from './errors.ts';
export type * from './types.ts';

export { collectBlobs } from './blobs/collect.ts';
export {
  type CaseOutcome,
  type Clock,
  type ConformanceCase,
  type ConformanceOptions,
  type ConformanceReport,
  conformance,
  runConformance,
} from './conform/suite.ts';
export { type OpenOptions, openStore } from './open.ts';
export { DEFAULT_BUDGET } from './protocol/budget.ts';
export { canonical } from './protocol/canonical.ts';
export { type IntentRequest, intentId, makeIntent } from './protocol/ids.ts';
export { checkRecord, sealRecord } from './protocol/record.ts';

export { acquire, type ClaimOptions, claim, reapDead, recover } from './claim.ts';
export { cancel, type Dispatched, dispatch, lastCheckpoint, list, requeue, status } from './handoff.ts';
export type { CheckpointOptions, ClaimContext, FailOptions } from './holder/context.ts';
export type { Restored, RestoredChain } from './holder/restore.ts';
export { type Liveness, liveness, thisProcess } from './process.ts';
export { Supervisor, type SupervisorEvent, type SupervisorOptions } from './supervisor/supervisor.ts';
export { trigger } from './trigger.ts';
