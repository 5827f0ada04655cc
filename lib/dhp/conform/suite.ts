import type { Store } from '../types.ts';
import type { Clock, ConformanceCase } from './bench.ts';
import { blobs } from './blobs.ts';
import { budgets } from './budgets.ts';
import { chain } from './chain.ts';
import { fences } from './fences.ts';
import { queries } from './queries.ts';
import { transitions } from './transitions.ts';

export type { Clock, ConformanceCase } from './bench.ts';

/** What a store must do to be one, as data: every case stands alone and knows nothing of a test framework. */
export const conformance: readonly ConformanceCase[] = [
  ...transitions,
  ...fences,
  ...chain,
  ...budgets,
  ...queries,
  ...blobs,
];

export interface CaseOutcome {
  readonly name: string;
  readonly ok: boolean;
  readonly error: Error | null;
  readonly ms: number;
}

export interface ConformanceReport {
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly CaseOutcome[];
}

export interface ConformanceOptions {
  /** Told of each case when it is over. */
  readonly onCase?: (outcome: CaseOutcome) => void;
  readonly cases?: readonly ConformanceCase[];
}

/**
 * Runs the suite. `open` opens the store under test on the clock it is given, anew for each case; it may open the same
 * one again. Use a store made for this: the cases leave their handoffs behind.
 */
export async function runConformance(
  open: (now: () => number) => Promise<Store>,
  { onCase, cases = conformance }: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const outcomes: CaseOutcome[] = [];
  for (const it of cases) {
    const outcome = await runCase(open, it);
    outcomes.push(outcome);
    onCase?.(outcome);
  }
  const passed = outcomes.filter((it) => it.ok).length;
  return { passed, failed: outcomes.length - passed, cases: outcomes };
}

async function runCase(open: (now: () => number) => Promise<Store>, it: ConformanceCase): Promise<CaseOutcome> {
  const opened: Store[] = [];
  const clock = startClock();
  const start = performance.now();
  const verdict = (error: Error | null): CaseOutcome => {
    return { name: it.name, ok: error === null, error, ms: performance.now() - start };
  };
  try {
    await it.run(async () => {
      const store = await open(() => clock.now());
      opened.push(store);
      return store;
    }, clock);
    return verdict(null);
  } catch (error) {
    return verdict(error instanceof Error ? error : new Error(String(error)));
  } finally {
    for (const store of opened) await store.close();
  }
}

function startClock(): Clock {
  let at = Date.now();
  return {
    now: () => at,
    advance: (ms) => {
      at += ms;
    },
  };
}
