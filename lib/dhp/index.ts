/** `uhop/dhp`: durable handoffs. */
export * from './errors.ts';
export type * from './types.ts';
