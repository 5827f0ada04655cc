/** The tables for people: a heading as a suite begins, a line for each case as soon as it is there, footnotes. */
import { type Absent, isAbsent, type Team } from './contenders/contender.ts';
import type { Machine } from './machine.ts';
import type { Entry, Goal, Row, SuiteResult } from './results.ts';
import type { Suite } from './suites.ts';

/** 3 significant digits. */
export function time(seconds: number): string {
  const [value, unit] = seconds < 1e-3 ? [seconds * 1e6, 'µs'] : seconds < 1 ? [seconds * 1e3, 'ms'] : [seconds, 's'];
  return `${significant(value)} ${unit}`;
}

export function significant(value: number): string {
  const digits = Math.max(0, 2 - Math.max(-2, Math.floor(Math.log10(value))));
  return value.toFixed(digits);
}

const percent = (share: number): string => `${Math.round(share * 100)}%`;
const ratioOf = ({ ratio, ratioSpread }: Entry): string => `${significant(ratio)}x ±${percent(ratioSpread)}`;

/** The machine, and every contender: its version or why it is not there. */
export function opening(
  { cpu, processors, isas, node, load }: Machine,
  threads: number,
  rounds: number,
  contenders: readonly (Team | Absent)[],
): string {
  const count = `${threads} ${threads === 1 ? 'thread' : 'threads'}`;
  const who = contenders
    .filter((one) => isAbsent(one) || one.role !== 'ceiling')
    .map((one) => `  ${one.name}: ${isAbsent(one) ? one.reason : one.version}`);
  return [
    `${cpu}, ${count}, ${isas.join(' ')}, Node ${node}`,
    `medians of ${rounds} rounds, ± half the distance between the quartiles`,
    ...(load > processors / 4 ? [`The machine is busy (load ${load.toFixed(1)}): these numbers are rough.`] : []),
    ...who,
    'A ratio is how many times as long another takes: above 1 the first of the table is faster.',
  ].join('\n');
}

/** The lines of one suite. */
export class Table {
  readonly #suite: Suite;
  readonly #columns: readonly string[];
  readonly #label: number;

  /** `present`: those who take part at all. A ceiling that the share is of has no column. */
  constructor(suite: Suite, present: readonly string[], labels: readonly string[]) {
    this.#suite = suite;
    this.#columns = suite.teams.filter((name) => present.includes(name) && !name.startsWith('fma'));
    this.#label = Math.max(...labels.map((label) => label.length), 0);
  }

  heading(): string {
    const { name, title, skipped } = this.#suite;
    if (skipped) return `\n${name}: left out: ${skipped}`;
    const [subject, ...others] = this.#columns;
    return `\n${name}: ${title}\n${this.#cells('', [subject!, 'Gop/s', 'of peak'], others, '')}`;
  }

  /** The subject's time and speed, then how many times as long each of the others takes. */
  row({ label, entries, flops }: Row): string {
    const subject = entries[0]!;
    const speed = significant(flops / subject.seconds / 1e9);
    const share = subject.share === null ? '-' : percent(subject.share);
    const others = this.#columns.slice(1).map((name) => {
      const entry = entries.find((other) => other.name === name);
      return entry ? ratioOf(entry) : '-';
    });
    const measured = [`${time(subject.seconds)} ±${percent(subject.spread)}`, speed, share];
    return this.#cells(label, measured, others, subject.note);
  }

  #cells(label: string, own: readonly string[], others: readonly string[], note: string): string {
    const widths = [15, 7, 9];
    const first = own.map((cell, at) => cell.padStart(widths[at]!)).join('');
    return `${label.padEnd(this.#label)}${first}${others.map((cell) => cell.padStart(16)).join('')}  ${note}`.trimEnd();
  }
}

/** Who did not take part in which cases, and why. */
export function footnotes({ rows }: SuiteResult): string {
  const cases = new Map<string, number>();
  for (const { absent } of rows) {
    for (const { name, reason } of absent) {
      const note = `${name}: ${reason}`;
      cases.set(note, (cases.get(note) ?? 0) + 1);
    }
  }
  return [...cases]
    .map(([note, count]) => `  - ${note}${count < rows.length ? ` (${count} of ${rows.length})` : ''}`)
    .join('\n');
}

/** The targets that were measured, side by side with what was. */
export function closing(goals: readonly Goal[]): string {
  const measured = goals.filter(({ met }) => met !== null);
  const rows = [
    ['what', 'target', 'measured', ''],
    ...measured.map((goal) => [goal.what, goal.target, goal.measured, goal.met ? 'met' : 'not met']),
  ];
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const lines = rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd(),
  );
  const rest = goals.length - measured.length;
  return ['\nagainst the targets', ...lines, ...(rest > 0 ? [`(${rest} more were not measured)`] : [])].join('\n');
}
