/** What dispatch offers to the floors above: the ops, and what would run them. */
export * from './explain.ts';
export * from './ops.ts';
