/** What a run leaves behind: one JSON document. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bound, Case } from './cases.ts';
import type { Absent, Role } from './contenders/contender.ts';
import type { Machine } from './machine.ts';
import type { Times } from './measure.ts';
import { type Summary, summary } from './statistics.ts';

/** One contender of a row. */
export interface Entry {
  readonly name: string;
  readonly role: Role;
  /** The path, kernel or implementation that ran. */
  readonly note: string;
  readonly threads: number;
  readonly rounds: number;
  /** Seconds of a call: the median of the rounds. */
  readonly seconds: number;
  /** Half the distance between the quartiles over the median. */
  readonly spread: number;
  /** How many times as long as the row's subject it took, round against round: above 1 the subject is faster. */
  readonly ratio: number;
  readonly ratioSpread: number;
  /** Of the ceiling that the call is bound by, measured in the same rounds on as many threads; null without one. */
  readonly share: number | null;
}

export interface Row {
  readonly label: string;
  readonly flops: number;
  readonly bytes: number;
  readonly bound: Bound;
  /** The first is the subject. */
  readonly entries: readonly Entry[];
  readonly absent: readonly Absent[];
}

export interface SuiteResult {
  readonly name: string;
  readonly title: string;
  readonly skipped?: string | undefined;
  /** What went wrong; the rows are those before it. */
  readonly failed?: string;
  readonly rows: readonly Row[];
}

/** A line of the closing table. */
export interface Goal {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  /** Null where it was not measured. */
  readonly met: boolean | null;
}

export interface Results {
  readonly format: 'uhop-bench/1';
  readonly date: string;
  readonly quick: boolean;
  readonly threads: number;
  readonly rounds: number;
  readonly machine: Machine;
  /** Of every contender that took part. */
  readonly versions: Readonly<Record<string, string>>;
  readonly absent: readonly Absent[];
  readonly suites: readonly SuiteResult[];
  readonly goals: readonly Goal[];
}

/** Who shows what a call is bound by. */
const CEILINGS: Readonly<Record<Bound, string>> = { fma: 'fma', copy: 'memcpy', stream: 'read' };

/** `fmaFlops`: operations of one call of that ceiling; the others move the bytes of the case itself. */
export function rowOf(one: Case, times: readonly Times[], absent: readonly Absent[], fmaFlops: number): Row {
  const { label, flops, bytes, bound } = one;
  const summaries = new Map(times.map((time): [Times, Summary] => [time, summary(time.seconds)]));
  const subject = times[0]!;
  const entries = times.map((time): Entry => {
    const { name, role, note, threads } = time.contender;
    const { median, spread } = summaries.get(time)!;
    const ratio = summary(time.seconds.map((seconds, round) => seconds / subject.seconds[round]!));
    const ceiling = times.find((other) => isCeiling(other, bound, threads));
    const least = ceiling && summaries.get(ceiling)!.median * (bound === 'fma' ? flops / fmaFlops : 1);
    const share = role === 'ceiling' || least === undefined ? null : least / median;
    const ratios = { ratio: ratio.median, ratioSpread: ratio.spread };
    return { name, role, note, threads, rounds: time.seconds.length, seconds: median, spread, ...ratios, share };
  });
  return { label, flops, bytes, bound, entries, absent };
}

function isCeiling({ contender: { name, role, threads } }: Times, bound: Bound, of: number): boolean {
  return role === 'ceiling' && name.split(' ')[0] === CEILINGS[bound] && threads === of;
}

/** Writes the document and its picture under one name; answers that name without its endings. */
export function save(folder: string, results: Results, picture: string): string {
  const { machine, date, threads, quick } = results;
  const cpu = machine.cpu.toLowerCase().replaceAll(/\((r|tm)\)|\bcpu\b|processor/g, ' ');
  const words = cpu.match(/[a-z0-9.]+/g) ?? ['cpu'];
  const name = [...words, date.slice(0, 10), `${threads}t`, ...(quick ? ['quick'] : [])].join('-');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(folder, `${name}.svg`), picture);
  return join(folder, name);
}
