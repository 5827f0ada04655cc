/** Compiles the programs of bench/peers into build/peers, each when something that it is made of is newer. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { inPackage } from '../place.ts';

/** What a program needs besides its source; `flags` throws a sentence where that is not there. */
interface Recipe {
  readonly output: string;
  /** What to install when it does not compile. */
  readonly needs: string;
  flags(): readonly string[];
}

const NAMES = ['openblas', 'onednn', 'plain', 'peak', 'uhop', 'empty'] as const;
export type Program = (typeof NAMES)[number];

const RECIPES: Readonly<Record<Program, Recipe>> = {
  openblas: { output: 'openblas', needs: 'apt install libopenblas-dev', flags: () => ['-lopenblas'] },
  onednn: { output: 'onednn', needs: 'oneDNN 2: apt install libdnnl-dev', flags: () => ['-fopenmp', '-ldnnl'] },
  plain: { output: 'plain', needs: 'a C++20 compiler', flags: () => [] },
  peak: { output: 'peak', needs: 'a C++20 compiler', flags: () => ['-pthread', '-ffp-contract=fast'] },
  uhop: { output: 'uhop', needs: 'npm run build:native', flags: () => [...objects(), '-pthread'] },
  empty: { output: 'empty.node', needs: 'node-api-headers', flags: addonFlags },
};

/** The object files of the addon without those that know Node: what is measured is what the addon runs. */
function objects(): readonly string[] {
  const folder = inPackage('build', 'CMakeFiles');
  const all = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  const wanted = all.filter((file) => /native.(cpu|probe).*\.o$|kernels_\w+\.dir.*\.o$/.test(file));
  if (wanted.length === 0) throw new Error('the addon has not been built here');
  return wanted.map((file) => join(folder, file));
}

function addonFlags(): readonly string[] {
  const { include_dir: headers } = createRequire(import.meta.url)('node-api-headers') as { include_dir: string };
  const unresolved = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  return ['-shared', '-fPIC', '-isystem', headers, ...unresolved];
}

/** The path of the program. @throws Error with one sentence: why there is none, and what would help. */
export function build(name: Program, folder: string = inPackage('build', 'peers')): string {
  const { output, needs, flags } = RECIPES[name];
  const program = join(folder, output);
  const sources = inPackage('bench', 'peers');
  try {
    const extra = flags();
    const made = [`${name}.cc`, 'peer.h', 'ops.h'].map((file) => join(sources, file));
    if (isNewer(program, [...made, ...extra.filter((flag) => flag.endsWith('.o'))])) return program;
    mkdirSync(folder, { recursive: true });
    // Under its name at once: another run may be about to start it.
    const fresh = `${program}.${process.pid}`;
    compile(['-std=c++20', '-O2', made[0]!, ...extra, '-o', fresh]);
    renameSync(fresh, program);
    return program;
  } catch (error) {
    throw new Error(`${(error as Error).message} (needs ${needs})`, { cause: error });
  }
}

function isNewer(program: string, parts: readonly string[]): boolean {
  if (!existsSync(program)) return false;
  const made = statSync(program).mtimeMs;
  return parts.every((part) => statSync(part).mtimeMs < made);
}

function compile(args: readonly string[]): void {
  const compiler = process.env['CXX'] || 'c++';
  const { error, status, stderr } = spawnSync(compiler, args, { encoding: 'utf8' });
  if (error) throw new Error(`${compiler} does not run`, { cause: error });
  const complaint = stderr.split('\n').find((line) => /error|undefined reference|cannot find/.test(line)) ?? '';
  const reason = complaint.replace(/^.*?(fatal )?error: /, '').replace(/^.*?: (cannot find)/, '$1');
  if (status !== 0) throw new Error(`it does not compile: ${reason}`);
}
