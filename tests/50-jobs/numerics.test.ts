import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JobEvent, type JobSpec, jobStatus, matmulSync, runJob, submitJob, workLoop } from 'uhop';
import { acquire, openStore, type Store } from 'uhop/dhp';
import type { Backend, Call, Operands, Path } from '../../backends/contract.ts';
import { runtime } from '../../dist/lib/dispatch/registry.js';
import { eventsOf, scratch, tilesOf } from '../support/jobs.ts';
import { writeNpy } from '../support/npy.ts';
import { randomFloats } from '../support/numbers.ts';

const spec: JobSpec = {
  op: 'matmul',
  inputs: { a: 'a.npy', b: 'b.npy' },
  output: 'c.npy',
  tile: { rows: 10, cols: 20 },
};

let folder: string;
let store: Store;

beforeEach(async () => {
  folder = await scratch();
  store = await openStore('memory:');
  writeNpy(join(folder, 'a.npy'), randomFloats(30 * 25, 1), [30, 25]);
  writeNpy(join(folder, 'b.npy'), randomFloats(25 * 20, 2), [25, 20]);
});
afterEach(() => store.close());

async function submit(changes: Partial<JobSpec>): Promise<string> {
  return (await submitJob(store, { ...spec, ...changes }, { cwd: folder })).id;
}

/** The first tile, checkpointed by another host on a path that this one does not have. */
async function beginElsewhere(id: string, bytes = new Uint8Array(10 * 20 * 4)): Promise<void> {
  const claim = await acquire(store, id, { workerId: 'elsewhere' });
  const tile = {
    index: 0,
    path: 'cuda:0:gemm-sm90',
    isa: 'sm_90',
    kernel: 'f32_gemm__sm90_128x128',
    device: 'H200',
    driver: '570',
    version: '0.1.0',
    ms: 1,
  };
  await claim.checkpoint({ next: 1, done: 1, tile }, { blobs: { 'tile-0': bytes } });
  await claim.release('moved');
}

describe('a job that began on a path that is not here', () => {
  it('is refused when it is exact, costs no attempt, and stays for whoever has the path', async () => {
    const id = await submit({ numerics: 'exact' });
    await beginElsewhere(id);
    await expect(runJob(store, id)).rejects.toMatchObject({
      code: 'E_NUMERICS',
      message: expect.stringMatching(
        /began on cuda:0:gemm-sm90 \(f32_gemm__sm90_128x128, version .*on offer here.*naive:js/,
      ),
    });
    expect(await workLoop(store, { until: 'idle' })).toMatchObject({ completed: 0, failed: 0, released: 0 });
    expect(await jobStatus(store, id)).toMatchObject({ state: 'orphaned', attempts: 0, tiles: { done: 1, total: 3 } });
  });

  it('goes on when it is tolerant, and the result says so', async () => {
    const id = await submit({});
    await beginElsewhere(id);
    const outcome = await runJob(store, id, { backend: 'naive' });
    const result = { numericsChanged: true, paths: ['cuda:0:gemm-sm90', 'naive:js'] };
    expect(outcome).toMatchObject({ outcome: 'completed', result });
  });

  it('has its tiles computed here when the blobs do not fit the plan', async () => {
    const id = await submit({ numerics: 'exact' });
    await beginElsewhere(id, new Uint8Array(100));
    const events: JobEvent[] = [];
    const outcome = await runJob(store, id, { backend: 'naive', onEvent: (event) => events.push(event) });
    expect(outcome).toMatchObject({ outcome: 'completed', result: { numericsChanged: false, paths: ['naive:js'] } });
    expect(tilesOf(events)).toEqual([0, 1, 2]);
  });

  it('and one that began here goes on here, exact or not, without a mark', async () => {
    for (const numerics of ['exact', 'tolerant'] as const) {
      const id = await submit({ numerics });
      const stop = new AbortController();
      await runJob(store, id, {
        backend: 'naive',
        signal: stop.signal,
        onEvent: (event) => event.type === 'tile' && stop.abort(),
      });
      // Without a forced backend the path that began is kept, also where another would be faster.
      const result = { numericsChanged: false, paths: ['naive:js'] };
      expect(await runJob(store, id)).toMatchObject({ outcome: 'completed', result });
    }
  });
});

/** A backend whose results are those of the naive one, changed. */
function changed(change: (out: Float32Array) => void): Backend {
  const path: Path = { id: 'changed:js', backend: 'changed', seconds: 1e9, source: 'estimate', inline: false };
  return {
    id: 'changed',
    probe: async () => [],
    paths: () => [path],
    run: async (_path: Path, call: Call, { inputs, out }: Operands) => {
      if (call.op !== 'matmul') throw new Error('only matmul');
      const [a, b] = inputs;
      const right = matmulSync(
        { data: a!, shape: [call.M, call.K] },
        { data: b!, shape: [call.K, call.N] },
        { backend: 'naive', activation: call.activation },
      );
      out.set(right.data);
      change(out as Float32Array);
    },
  };
}

async function verified(
  change: (out: Float32Array) => void,
): Promise<{ outcome: unknown; events: readonly JobEvent[] }> {
  const id = await submit({ verify: 'recompute' });
  const events: JobEvent[] = [];
  const others = runtime.backends.filter(({ id: name }) => name !== 'naive');
  const backends = runtime.backends as Backend[];
  const before = [...backends];
  backends.splice(0, backends.length, ...before.filter((one) => !others.includes(one)), changed(change));
  try {
    const outcome = await runJob(store, id, { backend: 'naive', onEvent: (event) => events.push(event) });
    return { outcome, events };
  } finally {
    backends.splice(0, backends.length, ...before);
  }
}

describe('verification by a second path', () => {
  it('accepts a path that rounds otherwise', async () => {
    const { outcome, events } = await verified((out) => out.forEach((value, i) => (out[i] = value * (1 + 2 ** -23))));
    expect(outcome).toMatchObject({ outcome: 'completed' });
    expect(eventsOf(events, 'tile-mismatch')).toEqual([]);
  });

  it.each([
    ['one element is off by a hundredth', (out: Float32Array) => (out[137] = out[137]! + 0.01)],
    ['one element is NaN', (out: Float32Array) => (out[0] = NaN)],
    ['a sign is wrong', (out: Float32Array) => (out[199] = -out[199]!)],
    ['nothing was computed', (out: Float32Array) => out.fill(0)],
  ])('refuses the tile when %s: computed again once, never checkpointed', async (_, change) => {
    const { outcome, events } = await verified(change);
    expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'E_VERIFY' } });
    const mismatch = { index: 0, paths: ['naive:js', 'changed:js'] };
    expect(eventsOf(events, 'tile-mismatch')).toMatchObject([mismatch, mismatch]);
    expect(tilesOf(events)).toEqual([]);
  });

  it('accepts a disagreement that does not last', async () => {
    let runs = 0;
    const { outcome, events } = await verified((out) => {
      runs += 1;
      if (runs === 1) out[5] = 7;
    });
    expect(outcome).toMatchObject({ outcome: 'completed' });
    expect(eventsOf(events, 'tile-mismatch')).toHaveLength(1);
    expect(tilesOf(events)).toEqual([0, 1, 2]);
  });
});
