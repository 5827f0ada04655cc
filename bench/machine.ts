import { arch, cpus, loadavg, release, totalmem, type } from 'node:os';
import { devices } from '../lib/index.ts';

export interface Machine {
  readonly cpu: string;
  readonly arch: string;
  /** As the system shows them; a run may be allowed fewer. */
  readonly processors: number;
  readonly isas: readonly string[];
  readonly memoryBytes: number;
  readonly os: string;
  readonly node: string;
  /** Threads that wanted to run, over the minute before: a quiet machine has none. */
  readonly load: number;
}

export async function machine(): Promise<Machine> {
  const cpu = (await devices()).find(({ id }) => id === 'cpu');
  return {
    cpu: cpus()[0]?.model.trim() || arch(),
    arch: arch(),
    processors: cpus().length,
    isas: cpu?.features ?? [],
    memoryBytes: totalmem(),
    os: `${type()} ${release()}`,
    node: process.version,
    load: loadavg()[0] ?? 0,
  };
}
