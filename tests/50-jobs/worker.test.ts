import { readFileSync, renameSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { explain, type JobEvent, type JobSpec, jobStatus, runJob, submitJob, workLoop } from 'uhop';
import { acquire, DhpError, dispatch, openStore, type Store } from 'uhop/dhp';
import { runtime } from '../../dist/lib/dispatch/registry.js';
import { EndlessBackend } from '../support/endless-backend.ts';
import { faulty } from '../support/faulty.ts';
import { eventsOf, outcomeOf, runWorker, scratch, tilesOf } from '../support/jobs.ts';
import { writeNpy } from '../support/npy.ts';
import { randomFloats } from '../support/numbers.ts';

const relu: JobSpec = { op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy', tile: { elements: 250 } };
const matmul: JobSpec = {
  op: 'matmul',
  inputs: { a: 'x.npy', b: 'x.npy' },
  output: 'z.npy',
  tile: { rows: 10, cols: 40 },
};

let folder: string;
let store: Store;

beforeEach(async () => {
  folder = await scratch();
  store = await openStore(join(folder, 'store'));
  writeNpy(join(folder, 'x.npy'), randomFloats(1600, 1), [40, 40]);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await store.close();
});

async function submit(spec: JobSpec): Promise<string> {
  return (await submitJob(store, spec, { cwd: folder })).id;
}

/** Does something while a backend is registered whose tiles never end. */
async function withEndless<T>(act: (endless: EndlessBackend) => Promise<T>): Promise<T> {
  const endless = new EndlessBackend();
  const backends = runtime.backends as unknown[];
  backends.push(endless);
  try {
    return await act(endless);
  } finally {
    backends.splice(backends.indexOf(endless), 1);
  }
}

describe('a stop', () => {
  it('by SIGTERM ends between tiles, costs no attempt, and a standby goes on at once', async () => {
    const id = await submit({ ...relu, tile: { elements: 4 } });
    const { lines, code } = await runWorker({
      store: join(folder, 'store'),
      id,
      onLine: (line, kill) => 'type' in line && line.type === 'tile' && line.index === 2 && kill('SIGTERM'),
    });
    expect(code).toBe(0);
    expect(outcomeOf(lines)).toEqual({ outcome: 'released', id, reason: 'SIGTERM' });
    const computed = tilesOf(lines);
    expect(computed.length).toBeLessThan(400);
    expect(await jobStatus(store, id)).toMatchObject({
      state: 'orphaned',
      reason: 'SIGTERM',
      attempts: 0,
      releases: 1,
      tiles: { done: computed.length, total: 400 },
    });
    const events: JobEvent[] = [];
    const outcome = await runJob(store, id, { backend: 'naive', onEvent: (event) => events.push(event) });
    expect(outcome).toMatchObject({ outcome: 'completed' });
    expect([...computed, ...tilesOf(events)]).toEqual(Array.from({ length: 400 }, (_, index) => index));
  });

  it('before the claim leaves the job untouched', async () => {
    const id = await submit(relu);
    const signal = AbortSignal.abort('not today');
    expect(await runJob(store, id, { signal })).toEqual({ outcome: 'released', id, reason: 'not today' });
    expect(await store.get(id)).toMatchObject({ state: 'pending', attempts: 0, releases: 0 });
  });

  it('by cancelling the job reaches a tile that never ends', async () => {
    const id = await submit(relu);
    const running = withEndless(async (endless) => {
      const run = runJob(store, id, { backend: 'endless', heartbeatMs: 50 });
      await endless.begun();
      await store.cancel(id);
      return run;
    });
    expect(await running).toEqual({ outcome: 'lost', id, state: 'cancelled' });
  });

  it('inside a tile that takes longer than the grace time abandons the tile', async () => {
    const id = await submit(relu);
    const running = withEndless(async (endless) => {
      const stop = new AbortController();
      const run = runJob(store, id, { backend: 'endless', signal: stop.signal, graceMs: 20 });
      await endless.begun();
      stop.abort('hurry');
      return run;
    });
    expect(await running).toEqual({ outcome: 'released', id, reason: 'hurry' });
    expect(await store.get(id)).toMatchObject({ state: 'orphaned', attempts: 0, releases: 1, seq: 0 });
    expect(await runJob(store, id)).toMatchObject({ outcome: 'completed' });
  });
});

describe('the worker loop', () => {
  it('takes what there is, oldest first, and returns when idle', async () => {
    for (const spec of [relu, matmul, { ...relu, nonce: 'again' }]) await submit(spec);
    const ids = (await store.list()).map(({ id }) => id);
    const events: JobEvent[] = [];
    const summary = await workLoop(store, { until: 'idle', onEvent: (event) => events.push(event) });
    expect(summary).toEqual({ completed: 3, released: 0, failed: 0, parked: 0, lost: 0 });
    expect(eventsOf(events, 'completed').map(({ id }) => id)).toEqual(ids);
  });

  it('leaves other kinds and other work alone', async () => {
    const ours = await submit(relu);
    const other = await submit(matmul);
    const foreign = await dispatch(store, { taskKind: 'mail.send', inputs: {}, outputSchema: {} });
    expect(await workLoop(store, { until: 'idle', kinds: ['relu'] })).toMatchObject({ completed: 1 });
    expect(await jobStatus(store, ours)).toMatchObject({ state: 'completed' });
    for (const id of [other, foreign.id]) expect(await store.get(id)).toMatchObject({ state: 'pending', attempts: 0 });
    await expect(jobStatus(store, foreign.id)).rejects.toMatchObject({ code: 'E_SPEC' });
    await expect(runJob(store, foreign.id)).rejects.toMatchObject({ code: 'E_SPEC' });
  });

  it('does not claim what its backend cannot do', async () => {
    const id = await submit(relu);
    expect(await workLoop(store, { until: 'idle', backend: 'naive:abacus' })).toMatchObject({
      completed: 0,
      failed: 0,
    });
    await expect(runJob(store, id, { backend: 'naive:abacus' })).rejects.toMatchObject({
      code: 'E_BACKEND_UNAVAILABLE',
    });
    expect(await store.get(id)).toMatchObject({ state: 'pending', attempts: 0, fence: 0n });
  });

  it('gets on with the others when one job fails or is hopeless', async () => {
    writeNpy(join(folder, 'gone.npy'), randomFloats(10, 1), [10]);
    writeNpy(join(folder, 'changed.npy'), randomFloats(10, 1), [10]);
    const gone = await submit({ ...relu, inputs: { x: 'gone.npy' } });
    const changed = await submit({ ...relu, inputs: { x: 'changed.npy' } });
    const good = await submit(matmul);
    renameSync(join(folder, 'gone.npy'), join(folder, 'away.npy'));
    truncateSync(join(folder, 'changed.npy'), 3);
    const summary = await workLoop(store, { until: 'idle' });
    expect(summary).toMatchObject({ completed: 1, released: 0, parked: 1, lost: 0 });
    expect(summary.failed).toBeGreaterThan(0);
    expect(await jobStatus(store, good)).toMatchObject({ state: 'completed' });
    expect(await jobStatus(store, changed)).toMatchObject({ state: 'dead', error: { code: 'E_INPUT_CHANGED' } });
    expect(await jobStatus(store, gone)).toMatchObject({
      state: 'orphaned',
      reason: 'failed',
      error: { code: 'E_INPUT' },
    });
  });

  it('takes over from a worker of this host that died, not from one that lives', async () => {
    const id = await submit(relu);
    const living = await submit(matmul);
    await using claim = await acquire(store, living, { workerId: 'somebody' });
    await runWorker({ store: join(folder, 'store'), id, trigger: 'tile:computed@3=kill' });
    expect(await workLoop(store, { until: 'idle' })).toMatchObject({ completed: 1 });
    expect(await jobStatus(store, id)).toMatchObject({ state: 'completed', attempts: 2 });
    expect(await jobStatus(store, living)).toMatchObject({ state: 'claimed', holder: { workerId: 'somebody' } });
    await expect(runJob(store, living)).rejects.toMatchObject({ code: 'E_STATE' });
    expect(claim.signal.aborted).toBe(false);
  });

  it('takes up again what it let go of while the store would not take its release', async () => {
    const id = await submit(relu);
    let away = false;
    const refuse = async (): Promise<never> => {
      throw new DhpError('E_STORE_FULL', 'no room');
    };
    const writes = ['checkpoint', 'release', 'fail', 'claim', 'recover', 'orphan'] as const;
    const faults = Object.fromEntries(
      writes.map((name) => [name, (...args: never[]) => (away ? refuse() : (store[name] as Function)(...args))]),
    );
    const stop = new AbortController();
    const seen: string[] = [];
    const summary = await workLoop(faulty(store, faults), {
      signal: stop.signal,
      pollMs: 10,
      onEvent: ({ type }) => {
        seen.push(type);
        if (type === 'tile' && seen.length < 5) away = true;
        if (type === 'waiting') away = false;
        if (type === 'completed') stop.abort();
      },
    });
    expect(seen).toContain('waiting');
    expect(summary).toMatchObject({ completed: 1 });
    expect((await store.events()).filter(({ type }) => type === 'orphaned')).toMatchObject([
      { data: { reason: 'abandoned' } },
    ]);
    expect(await jobStatus(store, id)).toMatchObject({ state: 'completed' });
  });

  it.each(['E_STORE', 'E_ID_MISMATCH'] as const)('ends with a store that fails for good, by %s', async (code) => {
    const list = async (): Promise<never> => {
      throw new DhpError(code, 'damaged');
    };
    await expect(workLoop(faulty(store, { list }), { pollMs: 10 })).rejects.toMatchObject({ code });
  });

  it('waits for work until its signal aborts', async () => {
    const stop = new AbortController();
    const onEvent = (event: JobEvent): void => {
      if (event.type === 'completed') stop.abort('done for today');
    };
    const working = workLoop(store, { signal: stop.signal, pollMs: 10, onEvent });
    const id = await submit(relu);
    expect(await working).toMatchObject({ completed: 1 });
    expect(await jobStatus(store, id)).toMatchObject({ state: 'completed' });
  });
});

describe('a submitted job', () => {
  it('is the same job when submitted again, and another with a nonce or other data', async () => {
    const first = await submitJob(store, relu, { cwd: folder });
    expect(first.created).toBe(true);
    expect(await submitJob(store, relu, { cwd: folder })).toMatchObject({ id: first.id, created: false });
    const second = await submitJob(store, { ...relu, nonce: '2' }, { cwd: folder });
    expect(second).toMatchObject({ created: true });
    writeNpy(join(folder, 'x.npy'), randomFloats(1600, 2), [40, 40]);
    const third = await submitJob(store, relu, { cwd: folder });
    expect(new Set([first.id, second.id, third.id]).size).toBe(3);
  });

  it('has tiles within the memory it may take, and of the sizes that were given', async () => {
    const sizes = async (spec: JobSpec, tileMemoryBytes: number): Promise<readonly number[]> =>
      (await submitJob(store, spec, { cwd: folder, tileMemoryBytes })).plan.block;
    const whole: JobSpec = { ...matmul, tile: {} };
    const plenty = 2 ** 30;
    expect(await sizes(whole, plenty)).toEqual([1, 40, 40]);
    // Two rows of a, two columns of b and four numbers of c, the inputs twice, are 1296 bytes.
    expect(await sizes(whole, 1296)).toEqual([1, 2, 2]);
    expect(await sizes(whole, 1)).toEqual([1, 1, 1]);
    expect(await sizes({ ...matmul, tile: { rows: 7 } }, 3000)).toEqual([1, 7, 2]);
    expect(await sizes({ ...relu, tile: {} }, 1200)).toEqual([64]);
  });

  it('has tiles of half a second of work or so', async () => {
    writeNpy(join(folder, 'x.npy'), randomFloats(1200 * 1200, 1), [1200, 1200]);
    vi.stubEnv('UHOP_BACKEND', 'naive');
    const { plan } = await submitJob(store, { ...matmul, tile: {} }, { cwd: folder });
    const [, rows, cols] = plan.block as [number, number, number];
    const { ranking } = await explain('matmul', [
      [rows, 1200],
      [1200, cols],
    ]);
    expect(ranking[0]!.seconds).toBeLessThan(0.8);
    expect(ranking[0]!.seconds).toBeGreaterThan(0.15);
  });

  it('answers with its stored result once it is completed', async () => {
    const id = await submit(relu);
    const first = await runJob(store, id);
    const bytes = readFileSync(join(folder, 'y.npy'));
    expect(first).toMatchObject({
      outcome: 'completed',
      result: { bytes: bytes.length, shape: [40, 40], dtype: 'f32' },
    });
    expect(await runJob(store, id)).toEqual(first);
    expect(await jobStatus(store, id)).toMatchObject({ state: 'completed', tiles: { done: 7, total: 7 }, attempts: 1 });
  });
});

describe('a worker whose forced backend is not there', () => {
  it.each(['cuda', 'none:such'])('%s is told so at once', async (backend) => {
    await expect(workLoop(store, { backend })).rejects.toMatchObject({ code: 'E_BACKEND_UNAVAILABLE' });
  });

  it('as a path of a backend that is there leaves every job for others', async () => {
    await submit(relu);
    await expect(workLoop(store, { backend: 'naive:none', until: 'idle' })).resolves.toMatchObject({ completed: 0 });
  });
});

describe('the same job again', () => {
  const open: JobSpec = { op: 'matmul', inputs: { a: 'big.npy', b: 'big.npy' }, output: 'z.npy' };
  beforeEach(() => writeNpy(join(folder, 'big.npy'), randomFloats(1 << 20, 1), [1024, 1024]));
  const again = (change: Partial<JobSpec> = {}) => submitJob(store, { ...open, ...change }, { cwd: folder });

  it('is the same handoff, with the tiles it began with, where this machine would now choose others', async () => {
    vi.stubEnv('UHOP_BACKEND', 'naive');
    const first = await again();
    expect(first.created).toBe(true);
    expect(first.plan.tiles).toBeGreaterThan(1);
    vi.stubEnv('UHOP_BACKEND', 'cpu');
    const asNew = await again({ nonce: 'new' });
    expect(asNew.plan.tiles).toBeLessThan(first.plan.tiles);
    const second = await again();
    expect(second).toMatchObject({ id: first.id, created: false });
    expect(second.plan.block).toEqual(first.plan.block);
    await runJob(store, first.id);
    expect(await again()).toMatchObject({ id: first.id, created: false });
  });

  it.each<[string, Partial<JobSpec>]>([
    ['tile size', { tile: { rows: 77 } }],
    ['nonce', { nonce: 'once more' }],
    ['output', { output: 'elsewhere.npy' }],
    ['budget', { budget: { max_attempts: 7 } }],
    ['numerics', { numerics: 'exact' }],
  ])('is another one when its spec asks for another %s', async (_, change) => {
    const first = await again();
    const other = await again(change);
    expect(other.created).toBe(true);
    expect(other.id).not.toBe(first.id);
  });

  it('is another one when the data changed', async () => {
    const first = await again();
    writeNpy(join(folder, 'big.npy'), randomFloats(1 << 20, 2), [1024, 1024]);
    expect((await again()).id).not.toBe(first.id);
  });
});
