import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore, status } from '../../dhp/index.ts';
import { type JobEvent, type JobResult, type JobSpec, submitJob } from '../../jobs/index.ts';
import { Failure } from '../failure.ts';
import { progressLine } from '../progress.ts';
import { Child } from './child.ts';

/** The worker's share of a run, as the store's chain of checkpoints tells it. */
export interface Share {
  readonly pid: number;
  /** Tiles whose checkpoint this worker wrote. */
  readonly computed: number;
  /** Tiles it found done and did not compute. */
  readonly reused: number;
  /** Tiles that another worker was heard to begin and did not make safe, and this one computed. */
  readonly redone: number;
  readonly seconds: number;
}

export interface InterruptedRun {
  readonly tiles: number;
  readonly first: Share;
  readonly second: Share;
  /** What ended the first worker. */
  readonly diedOf: NodeJS.Signals | null;
  /** From the first worker's last word of a finished tile to the SIGKILL: how deep in the next one it was. */
  readonly intoTileMs: number;
  /** From sending SIGKILL to the second worker at work. */
  readonly takeoverMs: number;
  readonly output: string;
  readonly result: JobResult;
}

export interface PlainRun {
  readonly tiles: number;
  readonly worker: Share;
  readonly output: string;
  readonly result: JobResult;
}

/** Where a run lives and what it computes: a folder of its own with the store and the output. */
export interface Setting {
  readonly folder: string;
  readonly spec: Omit<JobSpec, 'output'>;
  readonly backend?: string | undefined;
  readonly signal: AbortSignal;
  /** Draw progress on stderr. */
  readonly watch: boolean;
}

type Worker = Child<JobEvent>;

const started = (event: JobEvent): boolean => event.type === 'started';
const ended = ({ type }: JobEvent): boolean =>
  type === 'completed' || type === 'failed' || type === 'parked' || type === 'lost';

/**
 * The job with an accident: its worker is killed with SIGKILL half-way into a tile, once two fifths of the tiles are
 * safe; a standby, freed to go on by a supervisor that sees the death, finishes the job. All three are processes.
 */
export async function interruptedRun(setting: Setting): Promise<InterruptedRun> {
  const { store, output, id, tiles } = await submit(setting);
  await using supervisor = new Child(['supervisor', '--store', store], setting.signal);
  await using first: Worker = worker(setting, store);
  const begun = await first.hear(started);
  await using second: Worker = worker(setting, store);

  const killAfter = Math.max(1, Math.floor(tiles * 0.4));
  const { event } = await first.hear((heard) => heard.type === 'tile' && heard.done >= killAfter);
  if (event.type === 'tile') await delay(event.ms / 2);
  const killedAt = await first.kill('SIGKILL');
  const lastTile = first.latest(({ type }) => type === 'tile');
  await assertUnfinished(store, id);
  const resumed = await second.hear(started);
  const end = await watched(setting, second, tiles);
  await second.kill('SIGTERM');
  await supervisor.kill('SIGTERM');
  const [mine = 0, theirs = 0] = await tilesByClaim(store, id);
  const begunTiles = new Set(tilesOf(first, 'tile-started'));
  return {
    tiles,
    first: { pid: first.pid, computed: mine, reused: 0, redone: 0, seconds: (killedAt - begun.at) / 1000 },
    second: {
      pid: second.pid,
      computed: theirs,
      reused: reusedIn(resumed.event),
      redone: tilesOf(second, 'tile').filter((index) => begunTiles.has(index)).length,
      seconds: (end.at - resumed.at) / 1000,
    },
    diedOf: first.diedOf,
    intoTileMs: killedAt - (lastTile ?? begun).at,
    takeoverMs: resumed.at - killedAt,
    output,
    result: resultIn(end.event),
  };
}

/** The same job, undisturbed, by one worker process. */
export async function plainRun(setting: Setting): Promise<PlainRun> {
  const { store, output, id, tiles } = await submit(setting);
  await using only: Worker = worker(setting, store);
  const begun = await only.hear(started);
  const { event, at } = await watched(setting, only, tiles);
  await only.kill('SIGTERM');
  const [computed = 0] = await tilesByClaim(store, id);
  const share = { pid: only.pid, computed, reused: reusedIn(begun.event), redone: 0, seconds: (at - begun.at) / 1000 };
  return { tiles, worker: share, output, result: resultIn(event) };
}

interface Submitted {
  readonly store: string;
  readonly output: string;
  readonly id: string;
  readonly tiles: number;
}

async function submit({ folder, spec, signal }: Setting): Promise<Submitted> {
  const store = join(folder, 'store');
  const output = join(folder, 'product.npy');
  await mkdir(folder, { recursive: true });
  const whole: JobSpec = { ...spec, output };
  await writeFile(join(folder, 'spec.json'), `${JSON.stringify(whole, null, 2)}\n`);
  await using opened = await openStore(store);
  const { id, plan } = await submitJob(opened, whole, { signal });
  return { store, output, id, tiles: plan.tiles };
}

function worker({ backend, signal }: Setting, store: string): Worker {
  return new Child(['worker', '--store', store, '--poll', '100', ...(backend ? ['--backend', backend] : [])], signal);
}

/** Waits for the end of the job, drawing its progress. */
async function watched(setting: Setting, child: Worker, tiles: number): ReturnType<Worker['hear']> {
  using line = setting.watch ? progressLine(process.stderr) : undefined;
  child.listen((event) => {
    if (event.type === 'started') line?.begin(event.reused);
    if (event.type === 'tile') line?.update({ done: event.done, total: tiles, path: event.path });
  });
  return await child.hear(ended);
}

/** How many tiles each claim of the job added to the chain, in the order of the claims. */
async function tilesByClaim(store: string, id: string): Promise<readonly number[]> {
  await using opened = await openStore(store);
  const counts = new Map<string, number>();
  for (const { fence } of await opened.checkpoints(id)) counts.set(fence, (counts.get(fence) ?? 0) + 1);
  return [...counts.values()];
}

/** The tiles of a worker's events of this type. */
function tilesOf(child: Worker, type: 'tile-started' | 'tile'): readonly number[] {
  return child.all((event) => event.type === type).map((event) => (event as { readonly index: number }).index);
}

/** On a fast machine a small job may be over before the signal comes. */
async function assertUnfinished(store: string, id: string): Promise<void> {
  await using opened = await openStore(store);
  if ((await status(opened, id)).state !== 'completed') return;
  throw new Failure('E_DEMO', 'the worker was done before it could be killed', 'give it more to do with --n');
}

function reusedIn(event: JobEvent): number {
  return event.type === 'started' ? event.reused : 0;
}

function resultIn(event: JobEvent): JobResult {
  if (event.type === 'completed') return event.result;
  const error = 'error' in event ? event.error : null;
  throw new Failure(error?.code ?? 'E_DEMO', `the job was ${event.type}${error ? `: ${error.message}` : ''}`);
}
