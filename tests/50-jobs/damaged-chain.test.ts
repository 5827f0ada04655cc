import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, it } from 'vitest';
import { type JobEvent, jobStatus, runJob } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { eventsOf, runWorker, tilesOf } from '../support/jobs.ts';
import { type SampleJob, sampleJob } from '../support/sample-job.ts';

const TILE = { rows: 10, cols: 40 };
const TILES = 6;
const DONE = 5;
let job: SampleJob;
let id: string;

/** A job whose worker was killed with five of its six tiles safe; every tile computed counts against its budget, reuse does not. */
beforeEach(async () => {
  job = await sampleJob();
  id = await job.submit({ tile: TILE, budget: { max_steps: 2 * DONE + 1 } });
  const trigger = `tile:start@${DONE + 1}=kill`;
  expect((await runWorker({ store: job.storeUrl, id, trigger })).signal).toBe('SIGKILL');
});

function damage(seq: number, expression = "'{'"): void {
  const db = new Database(join(job.storeUrl, 'dhp.sqlite'));
  db.prepare(`UPDATE checkpoints SET body = ${expression} WHERE id = ? AND seq = ?`).run(id, seq);
  db.close();
}

async function run(store: Store): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  const outcome = await runJob(store, id, { backend: 'naive', onEvent: (event) => events.push(event) });
  expect(outcome).toMatchObject({ outcome: 'completed', result: { tiles: TILES } });
  expect(job.output()).toEqual(job.reference);
  return events;
}

async function quarantined(store: Store): Promise<number> {
  return (await store.events(0, 10_000)).filter((event) => event.id === id && event.type === 'quarantined').length;
}

it.each([
  ['no JSON', "'{'"],
  ['binary', "x'00ff00ff'"],
  ['altered', `replace(body, '"done":', '"gone":')`],
])('a checkpoint anywhere in the chain that is %s costs its own tile and no attempt', async (_, expression) => {
  for (let seq = 1; seq <= DONE; seq++) {
    damage(seq, expression);
    await using store = await openStore(job.storeUrl);
    expect((await jobStatus(store, id)).state).not.toBe('dead');
    const stop = new AbortController();
    const events: JobEvent[] = [];
    const outcome = await runJob(store, id, {
      backend: 'naive',
      signal: stop.signal,
      onEvent: (event) => {
        events.push(event);
        if (event.type === 'tile') stop.abort('one is enough');
      },
    });
    expect(outcome).toMatchObject({ outcome: 'released' });
    expect(eventsOf(events, 'started')).toMatchObject([{ reused: DONE - 1 }]);
    expect(await quarantined(store)).toBe(seq);
    expect((await store.checkpoints(id)).length).toBe(DONE);
  }
  await using store = await openStore(job.storeUrl);
  expect(eventsOf(await run(store), 'started')).toMatchObject([{ reused: DONE }]);
});

it('two damaged checkpoints cost what stands between them; a tile whose blob is gone too is told of', async () => {
  await using store = await openStore(job.storeUrl);
  const sha256 = (await store.checkpoints(id, 5))[0]!.blobs[0]!.sha256;
  const files = readdirSync(job.storeUrl, { recursive: true, encoding: 'utf8' });
  rmSync(join(job.storeUrl, files.find((name) => name.endsWith(sha256))!));
  damage(1);
  damage(3);
  const events = await run(store);
  expect(eventsOf(events, 'tile-damaged')).toMatchObject([{ index: 4, code: 'E_BLOB_MISSING' }]);
  expect(tilesOf(events)).toEqual([0, 1, 2, 4, 5]);
  expect(await quarantined(store)).toBe(1);
});
