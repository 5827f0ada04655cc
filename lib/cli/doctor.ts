import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { sqliteVersion } from '../dhp/store/sqlite-file.ts';
import { type Device, devices } from '../index.ts';
import { EXIT } from './failure.ts';
import { bytes } from './format.ts';
import { type Output, outputOf } from './output.ts';
import { storeOption } from './store.ts';

const EXAMPLES = `
Exit code 0 when the cpu path works, 3 when only the plain TypeScript loops do.

Examples:
  uhop doctor
  uhop doctor --json | jq '.[] | select(.ok | not)'`;

/** One fact about the installation. `ok: null` is a remark that nothing depends on. */
interface Finding {
  readonly name: string;
  readonly ok: boolean | null;
  readonly value: string;
  readonly hint?: string;
}

const TOOLS = 'on Debian: apt-get install g++ make cmake; then `uhop build`';

/** `uhop doctor` */
export function define(): Command {
  return new Command('doctor')
    .description('Check Node, compiler, addon, limits and store of this installation, and say what to do.')
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(examine);
}

async function examine(options: { readonly store: string }, command: Command): Promise<void> {
  const output = outputOf(command);
  const cpu = (await devices()).find(({ backend }) => backend === 'cpu');
  const works = cpu?.usable === true;
  const findings: readonly Finding[] = [
    node(),
    await tool('compiler', compilers(), works),
    await tool('cmake', ['cmake'], works),
    addon(cpu),
    { name: 'instructions', ok: works, value: cpu?.features.join(' ') || 'unknown' },
    threads(cpu),
    memory(cpu),
    sqlite(),
    await store(options.store),
  ];
  output.document(findings);
  output.data(findings.map((finding) => line(finding, output)).join('\n'));
  if (!works) process.exitCode = EXIT.unavailable;
  else if (findings.some(({ ok }) => ok === false)) process.exitCode = EXIT.failure;
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  return { name: 'node', ok, value: process.versions.node, ...(ok ? {} : { hint: 'Node 20.19 or newer is needed' }) };
}

/** Those that the build looks for, in its order. */
function compilers(): readonly string[] {
  const { CXX } = process.env;
  return CXX ? [CXX] : ['c++', 'g++', 'clang++'];
}

/** The first of these tools of the build that runs; with an addon that works it is not missed. */
async function tool(name: string, commands: readonly string[], works: boolean): Promise<Finding> {
  for (const command of commands) {
    try {
      const { stdout } = await promisify(execFile)(command, ['--version']);
      return { name, ok: true, value: stdout.split('\n')[0] ?? command };
    } catch {}
  }
  const value = `${commands.join(', ')}: none runs`;
  return { name, ok: works ? null : false, value, ...(works ? {} : { hint: TOOLS }) };
}

function addon(cpu: Device | undefined): Finding {
  if (!cpu) return { name: 'addon', ok: false, value: 'no cpu backend' };
  const { built, present, usable, reason, name } = cpu;
  const words = Object.entries({ built, present, usable }).map(([word, yes]) => (yes ? word : `not ${word}`));
  const value = `${words.join(', ')}: ${reason ? `${reason.message} [${reason.code}]` : name}`;
  return { name: 'addon', ok: usable, value, ...(reason ? { hint: reason.hint } : {}) };
}

function threads(cpu: Device | undefined): Finding {
  const machine = cpus().length;
  const usable = cpu?.threads ?? availableParallelism();
  return { name: 'threads', ok: true, value: `${usable} of ${machine}, ${threadLimit(usable, machine)}` };
}

function threadLimit(usable: number, machine: number): string {
  if (process.env['UHOP_THREADS']) return 'set by UHOP_THREADS';
  if (usable < availableParallelism()) return 'limited by a control group';
  return usable < machine ? 'limited by the affinity mask' : 'all of the machine';
}

function memory(cpu: Device | undefined): Finding {
  const machine = totalmem();
  const usable = cpu?.memoryBytes ?? machine;
  const limit = usable < machine ? 'limited by a control group' : 'all of the machine';
  return { name: 'memory', ok: true, value: `${bytes(usable)} of ${bytes(machine)}, ${limit}` };
}

function sqlite(): Finding {
  try {
    return { name: 'sqlite', ok: true, value: sqliteVersion() };
  } catch (error) {
    return { name: 'sqlite', ok: false, value: (error as Error).message, hint: 'stores in memory work without it' };
  }
}

/** Whether the store's directory, or the nearest one above it that exists, can be written to. */
async function store(directory: string): Promise<Finding> {
  for (let place = resolve(directory); ; place = dirname(place)) {
    try {
      await access(place, constants.W_OK);
      return { name: 'store', ok: true, value: `${resolve(directory)}, writable` };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && place !== dirname(place)) continue;
      const value = `${place} cannot be written to (${(error as NodeJS.ErrnoException).code})`;
      return { name: 'store', ok: false, value, hint: 'name another one with --store DIR or UHOP_STORE' };
    }
  }
}

function line({ name, ok, value, hint }: Finding, output: Output): string {
  const mark = ok === null ? '-   ' : ok ? output.style('green', 'ok  ') : output.style('red', 'FAIL');
  return `${mark}  ${name.padEnd(12)}  ${value}${hint ? `\n                    → ${hint}` : ''}`;
}
