/**
 * What this process may use of the machine: its affinity mask and the quotas of its control groups, v1 and v2, not the
 * host's totals. Node 20 knows the affinity but no quota. Control groups nest and the tightest ancestor counts.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';

export interface Limits {
  readonly threads: number;
  readonly memoryBytes: number;
}

/** Host figures that the quotas are held against. */
export interface Host {
  /** Folder that stands for `/`. */
  readonly root: string;
  /** Processors of the affinity mask. */
  readonly processors: number;
  readonly memoryBytes: number;
}

const thisHost = (): Host => ({ root: '/', processors: availableParallelism(), memoryBytes: totalmem() });

/** Whole threads, at least one; bytes, at most the host's. A quota of 7.65 processors is 7 threads. */
export function limits(host: Host = thisHost()): Limits {
  const processors = Math.min(host.processors, ...groups(host.root, 'cpu').map(cpuQuota));
  const memoryBytes = Math.min(host.memoryBytes, ...groups(host.root, 'memory').map(memoryLimit));
  return { threads: Math.max(1, Math.floor(processors)), memoryBytes };
}

type Controller = 'cpu' | 'memory';

/** The folders of the process's group and of its ancestors, for whichever hierarchy has the controller. */
function groups(root: string, controller: Controller): string[] {
  const lines = (read(root, 'proc', 'self', 'cgroup') ?? '').split('\n');
  const mounts = join('sys', 'fs', 'cgroup');
  return lines.flatMap((line) => {
    const [, id, names, path] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (id === undefined || names === undefined || path === undefined) return [];
    if (id === '0' && names === '') return withAncestors(join(root, mounts), path);
    if (!names.split(',').includes(controller)) return [];
    return [names, controller].flatMap((name) => withAncestors(join(root, mounts, name), path));
  });
}

function withAncestors(mount: string, path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.' && part !== '..');
  return [...parts.keys(), parts.length].map((depth) => join(mount, ...parts.slice(0, depth)));
}

/** Processors: quota over period, or Infinity. */
function cpuQuota(group: string): number {
  const [quota, period] = (read(group, 'cpu.max') ?? '').split(' ');
  if (quota && period) return ratio(quota, period);
  return ratio(read(group, 'cpu.cfs_quota_us'), read(group, 'cpu.cfs_period_us'));
}

function ratio(quota: string | undefined, period: string | undefined): number {
  const processors = Number(quota) / Number(period);
  return processors > 0 ? processors : Infinity;
}

/** Bytes, or Infinity. The huge number that v1 writes for "none" is beyond any host's memory. */
function memoryLimit(group: string): number {
  const bytes = Number(read(group, 'memory.max') ?? read(group, 'memory.limit_in_bytes'));
  return bytes > 0 ? bytes : Infinity;
}

function read(...path: string[]): string | undefined {
  try {
    return readFileSync(join(...path), 'utf8').trim();
  } catch {
    return undefined;
  }
}
