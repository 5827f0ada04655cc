/** Runs a suite: for every case the contenders that take part, checked, then measured turn by turn. */
import { type Case, caseOf } from './cases.ts';
import { check } from './check.ts';
import { type Absent, type Contender, isAbsent, type Team } from './contenders/contender.ts';
import { FMA_FLOPS } from './contenders/programs.ts';
import { interleave, type Pace } from './measure.ts';
import { type Row, rowOf, type SuiteResult } from './results.ts';
import { readShapes } from './shapes.ts';
import type { Suite } from './suites.ts';
import type { Teams } from './teams.ts';

export interface Limits extends Pace {
  /** Cases of more operations are left out. */
  readonly flops: number;
  /** So many of a suite's cases at the most, evenly spread over its file. */
  readonly cases: number;
  /** A floor takes part where it needs, by its rate, at most so many seconds a call. */
  readonly patience: number;
}

/** The lines of the suite's file that are within the limits. */
export function casesOf({ name, shapes = name, skipped }: Suite, limits: Limits): readonly Case[] {
  if (skipped) return [];
  const all = readShapes(shapes)
    .map(caseOf)
    .filter(({ flops }) => flops <= limits.flops);
  const step = Math.max(1, (all.length - 1) / (limits.cases - 1));
  return all.filter((_, at) => Math.floor(at / step) > Math.floor((at - 1) / step));
}

/** `measured` is told of every row as soon as it is there. What goes wrong in a case ends the suite, not the run. */
export async function runSuite(
  suite: Suite,
  cases: readonly Case[],
  teams: Teams,
  limits: Limits,
  measured: (row: Row) => void,
): Promise<SuiteResult> {
  const { name, title, skipped } = suite;
  const rows: Row[] = [];
  try {
    for (const one of cases) {
      const row = await runCase(one, suite, teams, limits);
      rows.push(row);
      measured(row);
    }
  } catch (error) {
    return { name, title, failed: (error as Error).message, rows };
  }
  return { name, title, ...(skipped && { skipped }), rows };
}

/** @throws Error where a contender computes something else, or the suite's first one takes no part. */
export async function runCase(one: Case, suite: Suite, teams: Teams, limits: Limits): Promise<Row> {
  const contenders: Contender[] = [];
  const absent: Absent[] = [];
  try {
    for (const [at, name] of suite.teams.entries()) {
      const team = await teams.get(name);
      if (isAbsent(team)) continue;
      const entered = isTooSlow(team, one, limits) ? 'a call takes too long' : await team.enter(one);
      if (typeof entered !== 'string') contenders.push(entered);
      else if (at === 0) throw new Error(`${one.label}: ${name}: ${entered}`);
      else if (team.role !== 'ceiling') absent.push({ name, reason: entered });
    }
    await check(one, contenders);
    return rowOf(one, await interleave(contenders, limits), absent, FMA_FLOPS);
  } finally {
    for (const contender of contenders) await contender.close();
  }
}

function isTooSlow({ rate }: Team, { flops }: Case, { patience }: Limits): boolean {
  return rate !== undefined && flops / rate > patience;
}
