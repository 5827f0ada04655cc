import { DhpError } from '../errors.ts';
import type { Holder, Lease } from '../types.ts';

export function checkHolder(holder: Holder): void {
  for (const key of ['workerId', 'boot', 'startTime'] as const) checkText(`holder.${key}`, holder?.[key]);
  if (!Number.isSafeInteger(holder.pid) || holder.pid < 1) {
    throw new DhpError('E_ARGUMENT', `holder.pid must be a process id, got ${String(holder.pid)}`);
  }
}

/** Three missed heartbeats are the least that may cost a lease. */
export function checkLease(lease: Lease): void {
  for (const key of ['ttlMs', 'heartbeatMs'] as const) checkMs(`lease.${key}`, lease?.[key]);
  if (lease.ttlMs >= 3 * lease.heartbeatMs) return;
  throw new DhpError(
    'E_ARGUMENT',
    `lease.ttlMs must be at least three heartbeats (${3 * lease.heartbeatMs}), got ${lease.ttlMs}`,
  );
}

export function checkMs(name: string, ms: number): void {
  if (Number.isFinite(ms) && ms > 0) return;
  throw new DhpError('E_ARGUMENT', `${name} must be positive milliseconds, got ${String(ms)}`);
}

export function checkLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit > 0) return;
  throw new DhpError('E_ARGUMENT', `limit must be a positive integer, got ${String(limit)}`);
}

export function checkText(name: string, text: string): void {
  if (typeof text === 'string' && text !== '') return;
  throw new DhpError('E_ARGUMENT', `${name} must be a non-empty string, got ${String(text) || "''"}`);
}
