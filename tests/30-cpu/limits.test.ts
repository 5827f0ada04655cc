import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../support/native.ts';

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

const GiB = 2 ** 30;

/** A root folder with these files, read as a host of 8 processors and 16 GiB. */
function limitsWith(files: Readonly<Record<string, string>>): { threads: number; memoryBytes: number } {
  const root = mkdtempSync(join(tmpdir(), 'uhop-limits-'));
  made.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  }
  return limits({ root, processors: 8, memoryBytes: 16 * GiB });
}

const v2 = (group: string, files: Readonly<Record<string, string>>): Record<string, string> => ({
  'proc/self/cgroup': `0::${group}`,
  ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`sys/fs/cgroup/${name}`, text])),
});

const v1 = (files: Readonly<Record<string, string>>): Record<string, string> => ({
  'proc/self/cgroup': '12:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc',
  ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`sys/fs/cgroup/${name}`, text])),
});

describe('threads', () => {
  it.each([
    ['400000 100000', 4],
    ['765000 100000', 7],
    ['max 100000', 8],
    ['50000 100000', 1],
    ['1600000 100000', 8],
    ['0 100000', 8],
    ['nonsense', 8],
  ])('v2 cpu.max "%s" of 8 processors gives %i', (quota, threads) => {
    expect(limitsWith(v2('/', { 'cpu.max': quota })).threads).toBe(threads);
  });

  it.each([
    ['-1', 8],
    ['250000', 2],
    ['90000', 1],
  ])('v1 cpu.cfs_quota_us %s gives %i', (quota, threads) => {
    const files = { 'cpu,cpuacct/cpu.cfs_quota_us': quota, 'cpu,cpuacct/cpu.cfs_period_us': '100000' };
    expect(limitsWith(v1(files)).threads).toBe(threads);
  });

  it('v1 mounted as `cpu` and with the group as the container sees it', () => {
    const files = { 'cpu/docker/abc/cpu.cfs_quota_us': '300000', 'cpu/docker/abc/cpu.cfs_period_us': '100000' };
    expect(limitsWith(v1(files)).threads).toBe(3);
  });

  it('the tightest ancestor wins', () => {
    const files = {
      'cpu.max': 'max 100000',
      'pod/cpu.max': '200000 100000',
      'pod/app/cpu.max': '600000 100000',
    };
    expect(limitsWith(v2('/pod/app', files)).threads).toBe(2);
    expect(limitsWith(v2('/pod/app', { ...files, 'pod/app/cpu.max': '100000 100000' })).threads).toBe(1);
  });

  it('a group that is not mounted here leaves the mounted root', () => {
    expect(limitsWith(v2('/../outside/elsewhere', { 'cpu.max': '500000 100000' })).threads).toBe(5);
  });

  it('no control groups at all leave the affinity mask', () => {
    expect(limitsWith({})).toEqual({ threads: 8, memoryBytes: 16 * GiB });
  });
});

describe('memory', () => {
  it.each([
    [String(512 * 2 ** 20), 512 * 2 ** 20],
    ['max', 16 * GiB],
    [String(64 * GiB), 16 * GiB],
  ])('v2 memory.max %s', (text, bytes) => {
    expect(limitsWith(v2('/', { 'memory.max': text })).memoryBytes).toBe(bytes);
  });

  it('v1 limit, and the huge number that means none', () => {
    expect(limitsWith(v1({ 'memory/memory.limit_in_bytes': String(2 * GiB) })).memoryBytes).toBe(2 * GiB);
    expect(limitsWith(v1({ 'memory/memory.limit_in_bytes': '9223372036854771712' })).memoryBytes).toBe(16 * GiB);
  });

  it('the tightest ancestor wins', () => {
    const files = { 'a/memory.max': String(GiB), 'a/b/memory.max': 'max' };
    expect(limitsWith(v2('/a/b', files)).memoryBytes).toBe(GiB);
  });
});
