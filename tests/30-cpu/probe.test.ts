import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { devices, explain } from 'uhop';
import { describe, expect, it } from 'vitest';
import type { Device } from '../../backends/contract.ts';
import { addon } from '../support/native.ts';

const script = fileURLToPath(new URL('../support/forced-isa.mjs', import.meta.url));

const hasTaskset = process.platform === 'linux' && spawnSync('taskset', ['--version']).status === 0;
if (!hasTaskset) console.log('skipped: no taskset to bind a process to one processor with');

function child(
  env: Readonly<Record<string, string>>,
  launcher: readonly string[] = [],
): { device: Device; paths: string[]; results: boolean[] } {
  const { UHOP_ISA: _isa, UHOP_THREADS: _threads, UHOP_DISABLE: _disable, ...clean } = process.env;
  const options = { env: { ...clean, ...env }, encoding: 'utf8' } as const;
  const [command, ...args] = [...launcher, process.execPath, script];
  const { status, stdout, stderr } = spawnSync(command!, args, options);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout) as { device: Device; paths: string[]; results: boolean[] };
}

const here = [
  ...new Set(
    addon()
      .variants.filter(({ runsHere }) => runsHere)
      .map(({ isa }) => isa),
  ),
];

describe('the probe', () => {
  it('is usable after its self-test, with instruction sets, threads and memory', async () => {
    const device = (await devices()).find(({ id }) => id === 'cpu');
    expect(device).toMatchObject({ id: 'cpu', backend: 'cpu', built: true, present: true, usable: true });
    expect(device!.features).toEqual(here);
    expect(device!.threads).toBeGreaterThanOrEqual(1);
    expect(device!.memoryBytes).toBeGreaterThan(0);
    expect(device).not.toHaveProperty('reason');
  });

  it('offers one path per instruction set, the best first', async () => {
    const { ranking } = await explain('matmul', [
      [512, 512],
      [512, 512],
    ]);
    const paths = ranking.map(({ path }) => path).filter((path) => path.startsWith('cpu:'));
    expect(paths).toEqual(here.map((isa) => `cpu:gemm-${isa}`));
  });

  it.each(here)('UHOP_ISA=%s leaves exactly that one, and it is right', (isa) => {
    const { device, paths, results } = child({ UHOP_ISA: isa });
    expect([device.usable, device.features, paths, results]).toEqual([true, [isa], [`cpu:gemm-${isa}`], [true]]);
  });

  it.each(['neon', 'avx9', 'AVX2'].filter((isa) => !here.includes(isa)))('UHOP_ISA=%s is refused', (isa) => {
    const { device, paths } = child({ UHOP_ISA: isa });
    expect(device).toMatchObject({ built: true, present: false, usable: false, reason: { code: 'arch-mismatch' } });
    expect(device.reason!.message).toContain(isa);
    expect(device.reason!.hint).toContain(here[0]);
    expect(paths).toEqual([]);
  });

  it.runIf(hasTaskset)('has as many threads as its affinity mask has processors', () => {
    const [, first] = /Cpus_allowed_list:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))!;
    const { device, results } = child({}, ['taskset', '-c', first!]);
    expect([device.threads, results.length > 0, results.every(Boolean)]).toEqual([1, true, true]);
  });

  it('UHOP_THREADS sets the threads; an empty one sets nothing', async () => {
    expect(child({ UHOP_THREADS: '3' }).device.threads).toBe(3);
    expect(child({ UHOP_THREADS: '512' }).device.threads).toBe(512);
    const { threads } = (await devices()).find(({ id }) => id === 'cpu')!;
    expect(child({ UHOP_THREADS: '' }).device.threads).toBe(threads);
  });

  it.each(['many', '0', '-1', '1.5', '513', '1e10'])('UHOP_THREADS=%s is refused', (asked) => {
    const { device, paths } = child({ UHOP_THREADS: asked });
    expect(device).toMatchObject({ usable: false, reason: { code: 'disabled' } });
    expect(device.reason!.message).toContain(`'${asked}', which is not an integer from 1 to 512`);
    expect(paths).toEqual([]);
  });

  it('UHOP_DISABLE=cuda,cpu switches it off without loading anything', () => {
    const { device, paths } = child({ UHOP_DISABLE: 'cuda,cpu', UHOP_NATIVE_PATH: '/not/looked/at' });
    expect(device).toMatchObject({ usable: false, reason: { code: 'disabled' } });
    expect(paths).toEqual([]);
  });
});

describe('the loader', () => {
  it('says which files it tried on which platform, why each failed, and how to build', () => {
    const { device, paths } = child({ UHOP_NATIVE_PATH: '/nowhere/uhop.node' });
    expect(device).toMatchObject({ built: false, present: false, usable: false, reason: { code: 'library-missing' } });
    const { message, hint } = device.reason!;
    for (const part of ['/nowhere/uhop.node (no such file)', process.platform, process.arch]) {
      expect(message).toContain(part);
    }
    expect(hint).toContain('npx uhop build');
    expect(paths).toEqual([]);
  });

  it('gives the system’s own words for a file that is no addon', () => {
    const folder = mkdtempSync(join(tmpdir(), 'uhop-loader-'));
    const path = join(folder, 'uhop.node');
    writeFileSync(path, 'not an ELF file');
    const { device } = child({ UHOP_NATIVE_PATH: path });
    rmSync(folder, { recursive: true });
    expect(device.reason!.message).toMatch(/uhop\.node \(.*(invalid ELF header|file too short|not a mach-o)/i);
  });
});
