import { readFileSync, readlinkSync } from 'node:fs';
import type { Holder } from './types.ts';

/** `unknown` wherever this host cannot tell: another host, another boot, another process namespace, not Linux. */
export type Liveness = 'alive' | 'dead' | 'unknown';

interface ProcessStat {
  readonly state: string;
  readonly startTime: string;
}

/** Stands where this platform does not say. */
const UNKNOWN = 'unknown';

/** The command name (field 2) may itself hold blanks and parentheses, so fields are counted from the last `)`. */
function readStat(pid: number): ProcessStat | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTime: fields[19] ?? '' };
  } catch {
    return null;
  }
}

/**
 * Names a running kernel and a process namespace of it: containers share the kernel's boot id, yet one's process ids mean
 * nothing in another.
 */
function readBoot(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
    return `${boot}/${namespace}`;
  } catch {
    return UNKNOWN;
  }
}

let own: Omit<Holder, 'workerId'> | undefined;

/** This process as the holder of a claim. */
export function thisProcess(workerId: string): Holder {
  own ??= { boot: readBoot(), pid: process.pid, startTime: readStat(process.pid)?.startTime ?? UNKNOWN };
  return { workerId, ...own };
}

/** Whether a process id is taken, also by somebody whose /proc entry is hidden from this user. */
function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * Whether the process of a holder still runs. Answers `dead` only for certain: same kernel and namespace, and either no
 * process of that id, one that started at another time, or one that has ended and waits for its parent.
 */
export function liveness(holder: Holder): Liveness {
  const { boot } = thisProcess('');
  const judgeable = holder.boot === boot && boot !== UNKNOWN && holder.startTime !== UNKNOWN;
  if (!judgeable) return 'unknown';
  const stat = readStat(holder.pid);
  if (stat === null) return isTaken(holder.pid) ? 'unknown' : 'dead';
  const same = stat.startTime === holder.startTime;
  return same && stat.state !== 'Z' && stat.state !== 'X' ? 'alive' : 'dead';
}
