/** `uhop/dhp`: durable handoffs. */
export * from './errors.ts';
export type * from './types.ts';

export { type OpenOptions, openStore } from './open.ts';
export { DEFAULT_BUDGET } from './protocol/budget.ts';
export { canonical } from './protocol/canonical.ts';
export { type IntentRequest, intentId, makeIntent } from './protocol/ids.ts';
export { checkRecord, sealRecord } from './protocol/record.ts';
