/**
 * The native test program (tests/native): every kernel against a scalar reference, and the checks themselves against
 * wrong kernels. Built for this machine, with sanitizers, and for instruction sets that this machine need not have.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { root } from '../support/repository.ts';

interface Build {
  /** Why this machine cannot have it. */
  readonly missing?: string | undefined;
  readonly configure: readonly string[];
  /** What runs a program of this build, and what it is told. */
  readonly runner?: string;
  readonly args?: readonly string[];
}

const runs = (command: string): boolean => spawnSync(command, ['--version']).status === 0;
const firstMissing = (...commands: string[]): string | undefined => {
  const absent = commands.find((command) => !runs(command));
  return absent && `${absent} is not installed`;
};
const SANITIZERS = '-fsanitize=address,undefined -fno-sanitize-recover=all';
const sanitizes = (): boolean =>
  spawnSync('c++', [...SANITIZERS.split(' '), '-x', 'c++', '-', '-o', '/dev/null'], { input: 'int main() {}' })
    .status === 0;

/** Compiles in a third of the time; the bits are the same. */
const QUICKLY = '-DUHOP_KERNEL_LEVEL=-O1';

const tools = firstMissing('cmake', 'c++');
const BUILDS: Readonly<Record<string, Build>> = {
  here: { missing: tools, configure: [], args: ['--brief'] },
  sanitized: {
    missing: tools ?? (sanitizes() ? undefined : 'the compiler has no sanitizers'),
    configure: [QUICKLY, `-DCMAKE_CXX_FLAGS=${SANITIZERS}`],
    args: ['--brief'],
  },
  wide: {
    missing: tools ?? (process.arch === 'x64' ? undefined : 'not an x86-64 machine'),
    configure: [QUICKLY, '-DUHOP_WIDE=ON'],
    args: ['--brief'],
  },
  neon: {
    missing: firstMissing('cmake', 'aarch64-linux-gnu-g++', 'qemu-aarch64-static'),
    configure: [
      QUICKLY,
      '-DCMAKE_SYSTEM_NAME=Linux',
      '-DCMAKE_SYSTEM_PROCESSOR=aarch64',
      '-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++',
      '-DCMAKE_EXE_LINKER_FLAGS=-static',
    ],
    runner: 'qemu-aarch64-static',
    args: ['--brief'],
  },
};

const folderOf = (name: string): string => join(root, 'build', 'native-tests', name);

/** Not spawnSync: a worker that does not answer for a minute counts as dead. */
function output(command: string, args: readonly string[]): Promise<{ status: number | string; text: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=0' };
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ status: code ?? signal ?? 'unknown', text }));
  });
}

const outcomes = new Map<string, Promise<{ status: number | string; lines: string[] }>>();

/** What the program of a build said; compiled and run once. */
function outcomeOf(name: string): Promise<{ status: number | string; lines: string[] }> {
  const outcome = outcomes.get(name) ?? compileAndRun(name);
  outcomes.set(name, outcome);
  return outcome;
}

async function compileAndRun(name: string): Promise<{ status: number | string; lines: string[] }> {
  const { configure, runner, args = [] } = BUILDS[name]!;
  const folder = folderOf(name);
  const steps = [
    ['-S', root, '-B', folder, '-DUHOP_NATIVE_TESTS=ON', ...configure],
    ['--build', folder, '--parallel', '2'],
  ];
  for (const step of steps) {
    const { status, text } = await output('cmake', step);
    if (status !== 0) throw new Error(`cmake ${step.join(' ')} failed:\n${text.slice(-4000)}`);
  }
  const program = join(folder, 'native-tests');
  const { status, text } = await (runner ? output(runner, [program, ...args]) : output(program, args));
  return { status, lines: text.trim().split('\n') };
}

const LONG = { timeout: 900_000 };
const skipWithout = ({ skip }: TestContext, { missing }: Build): void => skip(missing !== undefined, missing);

describe.each(Object.entries(BUILDS))('the kernels, built %s', (name, build) => {
  it('are right, and every wrong kernel is refused', LONG, async (context) => {
    skipWithout(context, build);
    const { status, lines } = await outcomeOf(name);
    const bad = lines.filter((line) => !/^(ok|skip) /.test(line));
    expect(bad).toEqual([expect.stringMatching(/^\d+ ok, 0 failed, \d+ skipped$/)]);
    expect(status).toBe(0);
    const kinds = lines.flatMap((line) => /^(?:ok|skip) (\w+?)__/.exec(line)?.[1] ?? []);
    const types = ['f32', 'f64', 'f16', 'bf16'].flatMap((type) => [
      `${type}_gemm`,
      `${type}_depthwise`,
      `${type}_relu`,
    ]);
    expect(kinds).toEqual(expect.arrayContaining([...types, 'f16_widen', 'f16_narrow', 'bf16_widen', 'bf16_narrow']));
    expect(lines.filter((line) => line.startsWith('ok refused')).length).toBeGreaterThan(50);
  });

  it('all run on this processor', LONG, async (context) => {
    skipWithout(context, build);
    const { lines } = await outcomeOf(name);
    const left = lines.filter((line) => line.startsWith('skip '));
    context.skip(left.length > 0, `${left.length} kernels: ${/: (.*)/.exec(left[0] ?? '')?.[1]}`);
    expect(left).toEqual([]);
  });
});

describe('vectors as wide as those of AVX-512', () => {
  it('give the same bits on AVX2', LONG, async (context) => {
    skipWithout(context, BUILDS.wide!);
    const of = (lines: readonly string[]): string[] => lines.filter((line) => /^ok \w+__avx512/.test(line));
    const [real, wide] = [of((await outcomeOf('here')).lines), of((await outcomeOf('wide')).lines)];
    context.skip(real.length === 0, 'this processor lacks avx512');
    context.skip(wide.length === 0, 'this processor lacks avx2');
    expect(wide).toEqual(real);
  });

  it('need no AVX-512 instruction', LONG, async (context) => {
    skipWithout(context, BUILDS.wide!);
    const absent = firstMissing('objdump');
    context.skip(absent !== undefined, absent);
    await outcomeOf('wide');
    const { status, text } = await output('objdump', [
      '-d',
      '--no-show-raw-insn',
      join(folderOf('wide'), 'native-tests'),
    ]);
    expect(status).toBe(0);
    expect(text).toMatch(/vfmadd\w+ .*%ymm/);
    expect(text).not.toMatch(/%zmm|%k[0-7]\b|%[xy]mm(1[6-9]|2\d|3[01])/);
  });
});
