import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { devices, type JobEvent, jobStatus, runJob } from 'uhop';
import { openStore } from 'uhop/dhp';
import { eventsOf, outcomeOf, runWorker, tilesOf } from '../support/jobs.ts';
import { type SampleJob, sampleJob } from '../support/sample-job.ts';

const TILES = 3;
let job: SampleJob;
beforeEach(async () => {
  job = await sampleJob();
});

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
    const id = await job.submit();
    const killed = await runWorker({ store: job.storeUrl, id, trigger: `${point}=kill` });
    expect(killed.signal).toBe('SIGKILL');

    await using store = await openStore(job.storeUrl);
    const kept = (await store.checkpoints(id)).map(({ state }) => (state as { tile: { index: number } }).tile.index);
    const events: JobEvent[] = [];
    const outcome = await runJob(store, id, { backend: 'naive', onEvent: (event) => events.push(event) });

    expect(outcome).toMatchObject({ outcome: 'completed', result: { tiles: TILES, numericsChanged: false } });
    expect(job.output()).toEqual(job.reference);
    expect([...kept, ...tilesOf(events)]).toEqual([0, 1, 2]);
    expect(tilesOf(killed.lines).length).toBeLessThanOrEqual(kept.length);
    expect(job.leftovers()).toEqual([]);
  });

  it('after each tile in turn leaves every tile computed exactly once', async () => {
    const id = await job.submit();
    const computed: number[] = [];
    for (let death = 0; death < TILES; death++) {
      const { lines, signal } = await runWorker({
        store: job.storeUrl,
        id,
        onLine: (line, kill) => 'type' in line && line.type === 'tile' && line.index === death && kill('SIGKILL'),
        trigger: 'tile:start@2=stop,assemble:start=stop',
      });
      expect(signal).toBe('SIGKILL');
      computed.push(...tilesOf(lines));
    }
    expect(computed).toEqual([0, 1, 2]);
    const last = await runWorker({ store: job.storeUrl, id });
    expect(eventsOf(last.lines, 'started')).toMatchObject([{ reused: TILES }]);
    expect(outcomeOf(last.lines)).toMatchObject({ outcome: 'completed' });
    expect(job.output()).toEqual(job.reference);
  });

  it('at any moment, again and again, costs at most the tile in flight', async () => {
    const id = await job.submit({ tile: { rows: 5, cols: 10 }, budget: { max_attempts: 1000 } });
    const tiles = 48;
    const computed: number[] = [];
    let deaths = 0;
    for (let done = false; !done; ) {
      const delay = deaths < 5 ? 1 + ((deaths * 37) % 50) : null;
      const { lines, signal } = await runWorker({
        store: job.storeUrl,
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
    await using store = await openStore(job.storeUrl);
    expect(await jobStatus(store, id)).toMatchObject({ state: 'completed', tiles: { done: tiles, total: tiles } });
    // Every event follows its checkpoint, so a tile told of is never computed again; a death may keep one from being told of.
    expect(new Set(computed).size).toBe(computed.length);
    expect(computed.length).toBeGreaterThanOrEqual(tiles - deaths);
    expect(job.output()).toEqual(job.reference);
  });
});

const cpu = (await devices()).some(({ backend, usable }) => backend === 'cpu' && usable);

describe.skipIf(!cpu)('on the cpu backend', () => {
  it('a killed and resumed job gives the bytes of an uninterrupted one on the same path', async () => {
    const whole = await job.submit({ output: 'c.npy', nonce: 'whole' });
    expect(
      outcomeOf((await runWorker({ store: job.storeUrl, id: whole, run: { backend: 'cpu' } })).lines),
    ).toMatchObject({
      outcome: 'completed',
    });
    const bytes = job.output();

    const id = await job.submit({ numerics: 'exact' });
    const killed = await runWorker({
      store: job.storeUrl,
      id,
      run: { backend: 'cpu' },
      trigger: 'tile:computed@2=kill',
    });
    expect(killed.signal).toBe('SIGKILL');
    await using store = await openStore(job.storeUrl);
    const [path] = eventsOf(killed.lines, 'tile').map((event) => event.path);
    expect(await runJob(store, id)).toMatchObject({
      outcome: 'completed',
      result: { paths: [path], numericsChanged: false },
    });
    expect(path).toMatch(/^cpu:/);
    expect(job.output()).toEqual(bytes);
  });
});
