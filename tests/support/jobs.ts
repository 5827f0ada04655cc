import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { JobEvent, JobOutcome, RunOptions } from 'uhop';

/** What a worker process prints. */
export type Line =
  | JobEvent
  | JobOutcome
  | { readonly type: 'thrown'; readonly code: string; readonly message: string }
  | { readonly type: 'peak'; readonly kilobytes: number };

export interface WorkerRun {
  readonly lines: readonly Line[];
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface WorkerOptions {
  readonly store: string;
  readonly id: string;
  readonly run?: RunOptions;
  readonly trigger?: string;
  /** Called once the process runs. */
  readonly onStart?: (kill: (signal: NodeJS.Signals) => void) => void;
  /** Called with each line as it comes; may kill the process. */
  readonly onLine?: (line: Line, kill: (signal: NodeJS.Signals) => void) => void;
}

const WORKER = fileURLToPath(new URL('job-worker.mjs', import.meta.url));
const folders: string[] = [];

afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

/** An empty folder that is removed after the test. */
export async function scratch(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'uhop-jobs-'));
  folders.push(folder);
  return folder;
}

/** Runs a job in a process of its own, to its end or its death. */
export async function runWorker({ store, id, run = {}, trigger, onStart, onLine }: WorkerOptions): Promise<WorkerRun> {
  const child = spawn(process.execPath, [WORKER, store, id, JSON.stringify({ backend: 'naive', ...run })], {
    env: { ...process.env, UHOP_TRIGGER: trigger ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<Pick<WorkerRun, 'code' | 'signal'>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  onStart?.((signal) => child.kill(signal));
  const complaints = text(child.stderr);
  const lines: Line[] = [];
  for await (const printed of createInterface({ input: child.stdout })) {
    const line = JSON.parse(printed) as Line;
    lines.push(line);
    onLine?.(line, (signal) => child.kill(signal));
  }
  return { lines, stderr: await complaints, ...(await ended) };
}

export function tilesOf(lines: readonly Line[]): readonly number[] {
  return eventsOf(lines, 'tile').map(({ index }) => index);
}

export function eventsOf<T extends JobEvent['type']>(
  lines: readonly Line[],
  type: T,
): readonly Extract<JobEvent, { type: T }>[] {
  return lines.filter((line): line is Extract<JobEvent, { type: T }> => 'type' in line && line.type === type);
}

export function outcomeOf(lines: readonly Line[]): JobOutcome | undefined {
  return lines.find((line): line is JobOutcome => 'outcome' in line);
}
