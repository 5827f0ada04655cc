import { DhpError } from '../errors.ts';
import type { Budget, Grant, Handoff, Usage } from '../types.ts';

/** What an intent without a budget is hashed with. */
export const DEFAULT_BUDGET: Budget = {
  max_attempts: 3,
  max_steps: null,
  max_cost: null,
  max_wall_ms: null,
  max_attempts_without_progress: null,
  max_releases: null,
};

export const NO_GRANT: Required<Grant> = {
  attempts: 0,
  steps: 0,
  cost: 0,
  wall_ms: 0,
  attempts_without_progress: 0,
  releases: 0,
};

/** The explicit budget of a partial one. Caps are positive integers or null; `max_cost` may be any positive number. */
export function completeBudget(budget: Partial<Budget> = {}): Budget {
  checkKeys('budget', budget, DEFAULT_BUDGET);
  const complete = { ...DEFAULT_BUDGET, ...budget };
  for (const [key, value] of Object.entries(complete)) {
    if (value === null && key !== 'max_attempts') continue;
    checkAmount(`budget.${key}`, value, key === 'max_cost', 'or null for no cap');
  }
  return complete;
}

/** The sum of what was granted before and what is granted now. */
export function addGrant(before: Required<Grant>, grant: Grant): Required<Grant> {
  checkKeys('grant', grant, NO_GRANT);
  const sum = { ...before };
  for (const [key, value] of Object.entries(grant)) {
    checkAmount(`grant.${key}`, value, key === 'cost', 'or leave it out');
    sum[key as keyof Grant] += value as number;
  }
  return sum;
}

export function addUsage(before: Usage, spent: Usage): Usage {
  return {
    steps: before.steps + spent.steps,
    cost: before.cost + spent.cost,
    wall_ms: before.wall_ms + spent.wall_ms,
  };
}

/** One cap of a handoff with its grants: `limit` null when there is none. */
export interface Cap {
  readonly reason: string;
  readonly used: number;
  readonly limit: number | null;
}

/** Caps on claims: another claim is one too many when `used` has reached the limit. */
export function claimCaps(handoff: Handoff): readonly Cap[] {
  const { intent, granted, attempts, attemptsWithoutProgress } = handoff;
  return [
    cap('max-attempts', attempts, intent.budget.max_attempts, granted.attempts),
    cap(
      'max-attempts-without-progress',
      attemptsWithoutProgress,
      intent.budget.max_attempts_without_progress,
      granted.attempts_without_progress,
    ),
  ];
}

/** Caps on what was consumed: crossed when `used` is over the limit. */
export function spendCaps(handoff: Handoff): readonly Cap[] {
  const { intent, granted, usage, releases } = handoff;
  return [
    cap('max-steps', usage.steps, intent.budget.max_steps, granted.steps),
    cap('max-cost', usage.cost, intent.budget.max_cost, granted.cost),
    cap('max-wall-ms', usage.wall_ms, intent.budget.max_wall_ms, granted.wall_ms),
    cap('max-releases', releases, intent.budget.max_releases, granted.releases),
  ];
}

export function exhausted(handoff: Handoff): Cap | undefined {
  return claimCaps(handoff).find((it) => it.limit !== null && it.used >= it.limit);
}

export function crossed(handoff: Handoff): Cap | undefined {
  return spendCaps(handoff).find((it) => it.limit !== null && it.used > it.limit);
}

/** The wall time that the checkpoints so far have left of the budget, grants included; null for no cap. */
export function wallLeft({ intent, granted, usage }: Handoff): number | null {
  const { max_wall_ms } = intent.budget;
  return max_wall_ms === null ? null : max_wall_ms + granted.wall_ms - usage.wall_ms;
}

function cap(reason: string, used: number, max: number | null, granted: number): Cap {
  return { reason, used, limit: max === null ? null : max + granted };
}

function checkKeys(what: string, given: object, known: object): void {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    throw new DhpError('E_ARGUMENT', `${what} must be an object, got ${JSON.stringify(given)}`);
  }
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined) {
    throw new DhpError('E_ARGUMENT', `${what} has no ${unknown}: it knows ${Object.keys(known).join(', ')}`);
  }
}

function checkAmount(name: string, value: unknown, fractions: boolean, otherwise: string): void {
  const fits = fractions ? Number.isFinite(value) : Number.isSafeInteger(value);
  if (fits && (value as number) > 0) return;
  const wanted = fractions ? 'a positive number' : 'a positive integer';
  throw new DhpError('E_ARGUMENT', `${name} must be ${wanted} ${otherwise}, got ${String(value)}`);
}
