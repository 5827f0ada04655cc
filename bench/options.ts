/** The command line of the benchmark. */
import { parseArgs } from 'node:util';
import { FULL, QUICK } from './measure.ts';
import type { Limits } from './run.ts';

export interface Options {
  readonly quick: boolean;
  /** Null for all of them. */
  readonly suites: readonly string[] | null;
  /** Undefined for as many as this process may use. */
  readonly threads: string | undefined;
  readonly json: boolean;
  /** Undefined for the place of complete runs, and none for others. */
  readonly out: string | undefined;
  readonly limits: Limits;
}

const LIMITS: Readonly<Record<'quick' | 'full', Limits>> = {
  quick: { ...QUICK, flops: 2 ** 31, cases: 6, patience: 0.1 },
  full: { ...FULL, flops: Infinity, cases: Infinity, patience: 1 },
};

/** What is asked for cannot be done as it is put; the message is for whoever put it. */
export class UsageError extends Error {}

export function parseOptions(args: readonly string[], known: readonly string[]): Options {
  const { suite, quick, ...rest } = parse(args);
  const unknown = suite?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(`--suite ${unknown}: there are ${known.join(', ')}`);
  return { quick, suites: suite ?? null, limits: LIMITS[quick ? 'quick' : 'full'], ...rest };
}

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean', default: false },
        suite: { type: 'string', multiple: true },
        threads: { type: 'string' },
        json: { type: 'boolean', default: false },
        out: { type: 'string' },
      },
    });
    return { ...values, threads: values.threads, out: values.out };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
