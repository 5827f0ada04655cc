import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { type JobEvent, jobStatus, runJob, workLoop } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { tilesOf } from '../support/jobs.ts';
import { type SampleJob, sampleJob } from '../support/sample-job.ts';
import { mountedDisk } from '../support/small-disk.ts';

const KiB = 1024;
let job: SampleJob;
beforeEach(async () => {
  job = await sampleJob();
});

const isTile = (event: JobEvent, done: number): boolean => event.type === 'tile' && event.done === done;

async function run(store: Store, id: string, onEvent: (event: JobEvent) => void = () => {}) {
  const events: JobEvent[] = [];
  const outcome = await runJob(store, id, {
    backend: 'naive',
    onEvent: (event) => {
      events.push(event);
      onEvent(event);
    },
  });
  return { outcome, events };
}

it('under the output: the attempt fails, nothing is left behind, and the job goes on once there is room', async (context) => {
  await using disk = await mountedDisk(64 * KiB, context);
  disk.fill(4 * KiB);
  const output = join(disk.path, 'c.npy');
  const id = await job.submit({ output });
  await using store = await openStore(job.storeUrl);
  expect((await run(store, id)).outcome).toMatchObject({
    outcome: 'failed',
    error: { code: 'E_OUTPUT', message: expect.stringMatching(/ENOSPC/) },
  });
  expect(readdirSync(disk.path)).toEqual(['ballast']);
  await disk.makeRoom();
  const { outcome, events } = await run(store, id);
  expect(outcome).toMatchObject({ outcome: 'completed' });
  expect(tilesOf(events)).toEqual([]);
  expect(readFileSync(output)).toEqual(job.reference);
});

it('under the store: it keeps the checkpoints it has, and the job goes on once there is room', async (context) => {
  await using disk = await mountedDisk(1024 * KiB, context);
  await using store = await openStore(disk.path);
  const id = await job.submit({}, store);
  const stopped = await run(store, id, (event) => isTile(event, 1) && disk.fill(0)).catch((error: unknown) => error);
  expect(JSON.stringify(stopped)).toMatch(/E_STORE_FULL/);
  expect(job.output()).toBeNull();

  await disk.makeRoom();
  expect(await jobStatus(store, id)).toMatchObject({ tiles: { done: 1 } });
  const { state, fence } = (await store.get(id))!;
  if (state === 'claimed') await store.orphan({ id, fence }, 'expired');
  const { outcome, events } = await run(store, id);
  expect(outcome).toMatchObject({ outcome: 'completed' });
  expect(tilesOf(events)).toEqual([1, 2]);
  expect(job.output()).toEqual(job.reference);
});

it('under the tiles alone: the job is given back, however often, and that costs no attempt', async (context) => {
  await using disk = await mountedDisk(64 * KiB, context);
  disk.fill(4 * KiB);
  await using store = await openStore(job.storeUrl);
  symlinkSync(disk.path, join(job.storeUrl, 'blobs'));
  const id = await job.submit();
  for (const releases of [1, 2, 3, 4]) {
    expect((await run(store, id)).outcome).toMatchObject({
      outcome: 'released',
      reason: expect.stringMatching(/ENOSPC.*\[E_STORE_FULL\]$/),
    });
    expect(await store.get(id)).toMatchObject({ state: 'orphaned', attempts: 0, releases });
  }
  await disk.makeRoom();
  expect((await run(store, id)).outcome).toMatchObject({ outcome: 'completed' });
  expect(job.output()).toEqual(job.reference);
});

it('under the store of a lone worker: no job is parked, and the same worker goes on once there is room', async (context) => {
  await using disk = await mountedDisk(1024 * KiB, context);
  await using store = await openStore(disk.path);
  await job.submit({}, store);
  const stop = new AbortController();
  let troubles = 0;
  let room: Promise<void> | undefined;
  const onEvent = (event: JobEvent): void => {
    if (isTile(event, 1) && room === undefined) disk.fill(0);
    if (['released', 'failed', 'waiting'].includes(event.type)) troubles += 1;
    if (troubles === 4) room ??= disk.makeRoom();
    if (event.type === 'completed' || event.type === 'parked') stop.abort();
  };
  const summary = await workLoop(store, { backend: 'naive', signal: stop.signal, pollMs: 50, onEvent });
  await room;
  expect(troubles).toBeGreaterThanOrEqual(4);
  expect(summary).toMatchObject({ completed: 1, parked: 0 });
  expect(job.output()).toEqual(job.reference);
});
