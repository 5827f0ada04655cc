/**
 * `npm run bench`: every suite against every peer that is there, in one run.
 *
 *   --quick        about two minutes: few rounds, some cases of each suite and no large ones; nothing is written unless
 *                  --out says where
 *   --suite NAME   that suite alone (may be given again); nothing is written unless --out says where
 *   --threads N    for everyone; default: what this process may use
 *   --json         one JSON document on stdout instead of the tables
 *   --out FOLDER   where the document and its picture go; a full run without it writes bench/results
 */
import { devices } from '../lib/index.ts';
import { isAbsent, isPresent } from './contenders/contender.ts';
import { goals } from './goals.ts';
import { machine } from './machine.ts';
import { type Options, parseOptions, UsageError } from './options.ts';
import { picture } from './picture.ts';
import { inPackage } from './place.ts';
import { closing, footnotes, opening, Table } from './report.ts';
import { type Results, save, type SuiteResult } from './results.ts';
import { casesOf, runSuite } from './run.ts';
import { suites } from './suites.ts';
import { Teams } from './teams.ts';

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(
    args,
    suites(1).map(({ name }) => name),
  );
  const threads = await threadsOf(options);
  const teams = new Teams(threads);
  try {
    const results = await measure(options, teams, threads);
    if (options.json) console.log(JSON.stringify(results, null, 2));
    const whole = !options.quick && !options.suites;
    const folder = options.out ?? (whole ? inPackage('bench', 'results') : undefined);
    if (folder) console.error(`written: ${save(folder, results, picture(results))}.json and .svg`);
  } finally {
    await teams.close();
  }
}

async function threadsOf({ threads: asked }: Options): Promise<number> {
  if (asked !== undefined) process.env['UHOP_THREADS'] = asked;
  const cpu = (await devices()).find(({ id }) => id === 'cpu');
  if (cpu?.usable && cpu.threads !== undefined) return cpu.threads;
  throw new UsageError(cpu?.reason ? `${cpu.reason.message}. ${cpu.reason.hint}` : 'there is no cpu backend');
}

async function measure(options: Options, teams: Teams, threads: number): Promise<Results> {
  const { quick, json, limits } = options;
  const say = (words: string): void => {
    if (!json && words !== '') console.log(words);
  };
  const chosen = suites(threads).filter(({ name }) => options.suites?.includes(name) ?? true);
  const here = await machine();
  const started = await teams.start(chosen.filter(({ skipped }) => !skipped).flatMap((suite) => suite.teams));
  const present = started.filter(isPresent);
  const absent = started.filter(isAbsent);
  say(opening(here, threads, limits.rounds, started));
  const done: SuiteResult[] = [];
  for (const one of chosen) {
    const suite = { ...one, skipped: one.skipped ?? absent.find(({ name }) => name === one.teams[0])?.reason };
    const cases = casesOf(suite, limits);
    const labels = cases.map(({ label }) => label);
    const table = new Table(
      suite,
      present.map(({ name }) => name),
      labels,
    );
    say(table.heading());
    const result = await runSuite(suite, cases, teams, limits, (row) => say(table.row(row)));
    say(footnotes(result));
    if (result.failed !== undefined) {
      console.error(`${suite.name}: ${result.failed}`);
      process.exitCode = 1;
    }
    done.push(result);
  }
  const reached = goals(done, threads);
  say(closing(reached));
  return {
    format: 'uhop-bench/1',
    date: new Date().toISOString(),
    quick,
    threads,
    rounds: limits.rounds,
    machine: here,
    versions: Object.fromEntries(present.map(({ name, version }) => [name, version])),
    absent,
    suites: done,
    goals: reached,
  };
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
