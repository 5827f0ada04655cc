/** The benchmark's own parts as they are built, and the command. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const built = (path: string): Promise<unknown> =>
  import(new URL(`../../dist/bench/${path}.js`, import.meta.url).href) as Promise<unknown>;

type Process = typeof import('../../bench/contenders/process.ts');
type Shapes = typeof import('../../bench/shapes.ts');
type Cases = typeof import('../../bench/cases.ts');
type Check = typeof import('../../bench/check.ts');
type Build = typeof import('../../bench/contenders/build.ts');
type Goals = typeof import('../../bench/goals.ts');
type Local = typeof import('../../bench/contenders/local.ts');
type Measure = typeof import('../../bench/measure.ts');
type Picture = typeof import('../../bench/picture.ts');
type ResultsModule = typeof import('../../bench/results.ts');
type Suites = typeof import('../../bench/suites.ts');
type TeamsModule = typeof import('../../bench/teams.ts');

export const shapes: Shapes = (await built('shapes')) as Shapes;
export const cases: Cases = (await built('cases')) as Cases;
export const checks: Check = (await built('check')) as Check;
export const programs: Build = (await built('contenders/build')) as Build;
export const goals: Goals['goals'] = ((await built('goals')) as Goals).goals;
export const local: Local['local'] = ((await built('contenders/local')) as Local).local;
export const measuring: Measure = (await built('measure')) as Measure;
export const pictures: Picture = (await built('picture')) as Picture;
export const results: ResultsModule = (await built('results')) as ResultsModule;
export const start: Process['start'] = ((await built('contenders/process')) as Process).start;
export const suites: Suites['suites'] = ((await built('suites')) as Suites).suites;
export const Teams: TeamsModule['Teams'] = ((await built('teams')) as TeamsModule).Teams;

const MAIN = fileURLToPath(new URL('../../dist/bench/main.js', import.meta.url));

/** Runs the benchmark to its end, with no settings but these. */
export function bench(args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('UHOP_') && name !== 'NODE_PATH');
  const options = { encoding: 'utf8', env: Object.fromEntries(clean) } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], options);
  return { status, stdout, stderr };
}
