import { DhpError } from '../errors.ts';
import type { Holder, Lease } from '../types.ts';

export function checkHolder(holder: Holder): void {
  for (const key of ['workerId', 'boot', 'startTime'] as const) {
    if (typeof holder?.[key] !== 'string' || holder[key] === '') {
      throw new DhpError('E_ARGUMENT', `holder.${key} must be a non-empty string, got ${String(holder?.[key])}`);
    }
  }
  if (!Number.isSafeInteger(holder.pid) || holder.pid < 1) {
    throw new DhpError('E_ARGUMENT', `holder.pid must be a process id, got ${String(holder.pid)}`);
  }
}

/** Three missed heartbeats are the least that may cost a lease. */
export function checkLease(lease: Lease): void {
  for (const key of ['ttlMs', 'heartbeatMs'] as const) {
    if (!Number.isFinite(lease?.[key]) || lease[key] <= 0) {
      throw new DhpError('E_ARGUMENT', `lease.${key} must be positive milliseconds, got ${String(lease?.[key])}`);
    }
  }
  if (lease.ttlMs >= 3 * lease.heartbeatMs) return;
  throw new DhpError(
    'E_ARGUMENT',
    `lease.ttlMs must be at least three heartbeats (${3 * lease.heartbeatMs}), got ${lease.ttlMs}`,
  );
}

export function checkLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit > 0) return;
  throw new DhpError('E_ARGUMENT', `limit must be a positive integer, got ${String(limit)}`);
}

export function checkReason(reason: string): void {
  if (typeof reason === 'string' && reason !== '') return;
  throw new DhpError('E_ARGUMENT', `a reason or name must be a non-empty string, got ${JSON.stringify(reason)}`);
}
