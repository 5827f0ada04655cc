import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { type JobEvent, type JobSpec, jobStatus, runJob, submitJob } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { eventsOf, outcomeOf, runWorker, scratch, tilesOf } from '../support/jobs.ts';
import { writeNpy } from '../support/npy.ts';
import { randomFloats } from '../support/numbers.ts';

const TILES = 3;
const spec: JobSpec = {
  op: 'matmul',
  inputs: { a: 'a.npy', b: 'b.npy' },
  output: 'c.npy',
  attrs: { activation: 'relu' },
  tile: { rows: 20, cols: 40 },
};

let folder: string;
let storeUrl: string;
/** The bytes that an uninterrupted run writes. */
let reference: Buffer;

beforeEach(async () => {
  folder = await scratch();
  storeUrl = join(folder, 'store');
  writeNpy(join(folder, 'a.npy'), randomFloats(60 * 50, 1), [60, 50]);
  writeNpy(join(folder, 'b.npy'), randomFloats(50 * 40, 2), [50, 40]);
  await using store = await openStore('memory:');
  const { id } = await submitJob(store, { ...spec, output: 'reference.npy' }, { cwd: folder });
  await runJob(store, id, { backend: 'naive' });
  reference = readFileSync(join(folder, 'reference.npy'));
});

async function submit(changes: Partial<JobSpec> = {}): Promise<string> {
  await using store = await openStore(storeUrl);
  return (await submitJob(store, { ...spec, ...changes }, { cwd: folder })).id;
}

function leftovers(): readonly string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.tmp'));
}

/** Resolves when the process that holds the job has stopped itself. */
async function untilFrozen(store: Store, id: string): Promise<void> {
  for (;;) {
    const pid = (await store.get(id))?.holder?.pid;
    if (pid !== undefined && /^State:\tT/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return;
    await setTimeout(20);
  }
}

const each = Array.from({ length: TILES }, (_, tile) => tile + 1);
const points = [
  'claim:after',
  'tile:start@2',
  'tile:loaded@2',
  ...each.map((tile) => `tile:computed@${tile}`),
  'checkpoint:before-blobs@2',
  'checkpoint:after-blobs@2',
  ...each.map((tile) => `checkpoint:after-commit@${tile}`),
  'assemble:start',
  'assemble:before-rename',
  'assemble:after-rename',
  'complete:before-commit',
  'complete:after-commit',
];

describe('kill -9 of the worker', () => {
  it.each(points)('at %s: another process finishes with the same bytes', async (point) => {
    const id = await submit();
    const killed = await runWorker({ store: storeUrl, id, trigger: `${point}=kill` });
    expect(killed.signal).toBe('SIGKILL');

    await using store = await openStore(storeUrl);
    const kept = (await store.checkpoints(id)).map(({ state }) => (state as { tile: { index: number } }).tile.index);
    const events: JobEvent[] = [];
    const outcome = await runJob(store, id, { backend: 'naive', onEvent: (event) => events.push(event) });

    expect(outcome).toMatchObject({ outcome: 'completed', result: { tiles: TILES, numericsChanged: false } });
    expect(readFileSync(join(folder, 'c.npy')).equals(reference)).toBe(true);
    expect([...kept, ...tilesOf(events)]).toEqual([0, 1, 2]);
    expect(tilesOf(killed.lines).length).toBeLessThanOrEqual(kept.length);
    expect(leftovers()).toEqual([]);
  });

  it('after each tile in turn leaves every tile computed exactly once', async () => {
    const id = await submit();
    const computed: number[] = [];
    for (let death = 0; death < TILES; death++) {
      const { lines, signal } = await runWorker({
        store: storeUrl,
        id,
        onLine: (line, kill) => 'type' in line && line.type === 'tile' && line.index === death && kill('SIGKILL'),
        trigger: 'tile:start@2=stop,assemble:start=stop',
      });
      expect(signal).toBe('SIGKILL');
      computed.push(...tilesOf(lines));
    }
    expect(computed).toEqual([0, 1, 2]);
    const last = await runWorker({ store: storeUrl, id });
    expect(eventsOf(last.lines, 'started')).toMatchObject([{ reused: TILES }]);
    expect(outcomeOf(last.lines)).toMatchObject({ outcome: 'completed' });
    expect(readFileSync(join(folder, 'c.npy')).equals(reference)).toBe(true);
  });

  it('at any moment, again and again, costs at most the tile in flight', async () => {
    const id = await submit({ tile: { rows: 5, cols: 10 }, budget: { max_attempts: 1000 } });
    const tiles = 48;
    const computed: number[] = [];
    let deaths = 0;
    for (let done = false; !done; ) {
      const delay = deaths < 5 ? 1 + ((deaths * 37) % 50) : null;
      const { lines, signal } = await runWorker({
        store: storeUrl,
        id,
        onLine: (line, kill) => {
          if ('type' in line && line.type === 'started' && delay !== null)
            setTimeout(delay).then(() => kill('SIGKILL'));
        },
      });
      computed.push(...tilesOf(lines));
      done = signal === null;
      deaths += done ? 0 : 1;
    }
    await using store = await openStore(storeUrl);
    expect(await jobStatus(store, id)).toMatchObject({ state: 'completed', tiles: { done: tiles, total: tiles } });
    // Every event follows its checkpoint, so a tile told of is never computed again; a death may keep one from being told of.
    expect(new Set(computed).size).toBe(computed.length);
    expect(computed.length).toBeGreaterThanOrEqual(tiles - deaths);
    expect(readFileSync(join(folder, 'c.npy')).equals(reference)).toBe(true);
  });
});

describe('a worker that dies on every tile', () => {
  it('is given three claims; then the job is parked, intact, and can be requeued', async () => {
    const id = await submit();
    for (let death = 0; death < 3; death++) {
      const { signal } = await runWorker({ store: storeUrl, id, trigger: 'tile:computed=abort' });
      expect(signal).toBe('SIGABRT');
    }
    await using store = await openStore(storeUrl);
    const parked = { outcome: 'parked', reason: 'worker-died' };
    expect(await runJob(store, id, { backend: 'naive' })).toMatchObject(parked);
    expect(await jobStatus(store, id)).toMatchObject({
      state: 'dead',
      reason: 'worker-died',
      attempts: 3,
      tiles: { done: 0, total: TILES },
    });
    await store.requeue(id, { attempts_without_progress: 1 });
    expect(await runJob(store, id, { backend: 'naive' })).toMatchObject({ outcome: 'completed' });
    expect(readFileSync(join(folder, 'c.npy')).equals(reference)).toBe(true);
  });
});

describe('a worker that was frozen while another took over', () => {
  it.each(['tile:computed@2', 'assemble:before-rename'])('at %s writes nothing more when it thaws', async (point) => {
    const id = await submit();
    await using store = await openStore(storeUrl);
    let thaw = (): void => {};
    const frozen = runWorker({
      store: storeUrl,
      id,
      // No heartbeat is in the middle of a commit, which would lock everybody out, when the process stops.
      run: { heartbeatMs: 60_000 },
      trigger: `${point}=stop`,
      onStart: (kill) => (thaw = () => kill('SIGCONT')),
    });
    await untilFrozen(store, id);
    await store.orphan({ id, fence: (await store.get(id))!.fence }, 'expired');
    expect(await runJob(store, id, { backend: 'naive' })).toMatchObject({ outcome: 'completed' });
    const { fence, result, seq } = (await store.get(id))!;

    thaw();
    const { lines } = await frozen;
    expect(outcomeOf(lines)).toEqual({ outcome: 'lost', id, state: 'completed' });
    expect(await store.get(id)).toMatchObject({ fence, result, seq, state: 'completed' });
    expect(readFileSync(join(folder, 'c.npy')).equals(reference)).toBe(true);
    expect(leftovers()).toEqual([]);
  });
});

describe('a worker that hangs in a tile while its heart beats', () => {
  it('loses the job as stalled, and another goes on', async () => {
    const id = await submit();
    await using store = await openStore(storeUrl);
    const hung = runWorker({
      store: storeUrl,
      id,
      run: { progressTimeoutMs: 2000, heartbeatMs: 100 },
      trigger: 'tile:loaded@2=hang',
      onLine: (line, kill) => {
        if (!('type' in line) || line.type !== 'tile') return;
        const watch = setInterval(async () => {
          if ((await store.get(id))?.state !== 'orphaned') return;
          clearInterval(watch);
          kill('SIGKILL');
        }, 50);
      },
    });
    expect(tilesOf((await hung).lines)).toEqual([0]);
    expect(await jobStatus(store, id)).toMatchObject({ state: 'orphaned', reason: 'stalled' });
    const events: JobEvent[] = [];
    const outcome = await runJob(store, id, { backend: 'naive', onEvent: (event) => events.push(event) });
    expect(outcome).toMatchObject({ outcome: 'completed' });
    expect(tilesOf(events)).toEqual([1, 2]);
    expect(readFileSync(join(folder, 'c.npy')).equals(reference)).toBe(true);
  });
});
