import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { type JobEvent, jobStatus, runJob } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { outcomeOf, runWorker, tilesOf } from '../support/jobs.ts';
import { type SampleJob, sampleJob } from '../support/sample-job.ts';

let job: SampleJob;
beforeEach(async () => {
  job = await sampleJob();
});

/** Resolves when the process that holds the job has stopped itself. */
async function untilFrozen(store: Store, id: string): Promise<void> {
  for (;;) {
    const pid = (await store.get(id))?.holder?.pid;
    if (pid !== undefined && /^State:\tT/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return;
    await setTimeout(20);
  }
}

describe('a worker that dies on every tile', () => {
  it('is given three claims; then the job is parked, intact, and can be requeued', async () => {
    const id = await job.submit();
    for (let death = 0; death < 3; death++) {
      const { signal } = await runWorker({ store: job.storeUrl, id, trigger: 'tile:computed=abort' });
      expect(signal).toBe('SIGABRT');
    }
    await using store = await openStore(job.storeUrl);
    const parked = { outcome: 'parked', reason: 'worker-died' };
    expect(await runJob(store, id, { backend: 'naive' })).toMatchObject(parked);
    expect(await jobStatus(store, id)).toMatchObject({
      state: 'dead',
      reason: 'worker-died',
      attempts: 3,
      tiles: { done: 0, total: job.tiles },
    });
    await store.requeue(id, { attempts_without_progress: 1 });
    expect(await runJob(store, id, { backend: 'naive' })).toMatchObject({ outcome: 'completed' });
    expect(job.output()).toEqual(job.reference);
  });
});

describe('a worker that was frozen while another took over', () => {
  it.each(['tile:computed@2', 'assemble:before-rename'])('at %s writes nothing more when it thaws', async (point) => {
    const id = await job.submit();
    await using store = await openStore(job.storeUrl);
    let thaw = (): void => {};
    const frozen = runWorker({
      store: job.storeUrl,
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
    expect(job.output()).toEqual(job.reference);
    expect(job.leftovers()).toEqual([]);
  });
});

describe('a worker that hangs in a tile while its heart beats', () => {
  it('loses the job as stalled, and another goes on', async () => {
    const id = await job.submit();
    await using store = await openStore(job.storeUrl);
    const hung = runWorker({
      store: job.storeUrl,
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
    expect(job.output()).toEqual(job.reference);
  });
});
