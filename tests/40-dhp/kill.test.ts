import { acquire, claim, type ClaimContext, DhpError, recover, status, type Store, Supervisor } from 'uhop/dhp';
import { describe, expect, it } from 'vitest';
import { Puppet } from '../support/puppet.ts';
import { aHandoff, eventually, inState, tempStore } from '../support/store.ts';

const HOUR = 3_600_000;
const STEPS = 4;

async function count(store: Store, id: string, type: string): Promise<number> {
  return (await store.events(0, 100_000)).filter((event) => event.id === id && event.type === type).length;
}

/** Goes on from the last checkpoint to the end, in this process; answers where it began, and with which blob. */
async function finish(ctx: ClaimContext): Promise<{ from: number; part: string | null }> {
  const restored = await ctx.restore();
  const from = (restored?.state as { n: number } | undefined)?.n ?? 0;
  for (let n = from + 1; n <= STEPS; n += 1) await ctx.checkpoint({ n });
  await ctx.complete({ n: STEPS });
  return { from, part: restored && new TextDecoder().decode(restored.blobs.get('part')) };
}

describe('a worker killed by SIGKILL', () => {
  for (const [point, reached] of [
    ['claim:after', 0],
    ['checkpoint:before-blobs@3', 2],
    ['checkpoint:after-blobs@3', 2],
    ['checkpoint:after-commit@3', 3],
    ['complete:before-commit', STEPS],
  ] as const) {
    it(`at ${point} loses no acknowledged checkpoint, and the next goes on at once`, async () => {
      await using temp = await tempStore();
      const id = await aHandoff(temp.store);
      await using worker = await Puppet.start(temp.url, { UHOP_TRIGGER: `${point}=kill` });
      await worker.call('count', id, STEPS, { ttlMs: HOUR });
      expect(await worker.ended()).toBe('SIGKILL');
      const acked = worker.events.filter(({ event }) => event === 'acked').length;

      await using ctx = await acquire(temp.store, id, { workerId: 'next' });
      const { from, part } = await finish(ctx);

      expect(from).toBe(reached);
      expect(from).toBeGreaterThanOrEqual(acked);
      expect(part).toBe(reached === 0 ? null : `part ${reached}`);
      expect(await status(temp.store, id)).toMatchObject({
        state: 'completed',
        result: { n: STEPS },
        attempts: 2,
        seq: STEPS,
      });
      expect(await count(temp.store, id, 'completed')).toBe(1);
    });
  }

  it('after its completion committed has completed the work', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using worker = await Puppet.start(temp.url, { UHOP_TRIGGER: 'complete:after-commit=kill' });
    expect((await worker.call('count', id, STEPS)).error).toBeDefined();
    expect(await worker.ended()).toBe('SIGKILL');
    await expect(acquire(temp.store, id, { workerId: 'next' })).rejects.toMatchObject({
      code: 'E_STATE',
      details: { state: 'completed', result: { n: STEPS } },
    });
    expect(await count(temp.store, id, 'completed')).toBe(1);
  });
});

describe('a worker that was frozen past its TTL', () => {
  it('cannot write over its successor, whichever write comes first', async () => {
    await using temp = await tempStore();
    const writes = { checkpoint: { n: 99 }, complete: { n: 99 }, fail: 'too late', release: 'too late' };
    const ids = new Map<string, string>();
    await using a = await Puppet.start(temp.url);
    for (const write of Object.keys(writes)) {
      const id = await aHandoff(temp.store);
      ids.set(write, id);
      await a.ask('claim', id, { ttlMs: 600, heartbeatMs: 200 });
      await a.ask('checkpoint', id, { n: 1 });
    }

    await a.freeze();
    await using supervisor = new Supervisor(temp.store, { pollMs: 50 });
    supervisor.start();
    for (const id of ids.values()) {
      expect(await inState(temp.store, id, 'orphaned')).toMatchObject({ reason: 'expired', fence: 2n });
      await using b = await recover(temp.store, id, { workerId: 'b' });
      expect((await b.restore())?.state).toEqual({ n: 1 });
      await b.complete({ n: 2 });
    }
    const before = await Promise.all([...ids.values()].map((id) => status(temp.store, id)));
    a.thaw();

    for (const [write, argument] of Object.entries(writes)) {
      const id = ids.get(write) as string;
      expect((await a.call(write, id, argument)).error).toMatchObject({ code: 'E_LEASE_LOST' });
      expect((await a.event('aborted', id))['code']).toBe('E_LEASE_LOST');
    }
    expect(await Promise.all([...ids.values()].map((id) => status(temp.store, id)))).toEqual(before);
    for (const id of ids.values()) {
      expect(await status(temp.store, id)).toMatchObject({ state: 'completed', result: { n: 2 }, seq: 1, attempts: 2 });
    }
  });

  it('goes on when nobody took over', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using a = await Puppet.start(temp.url);
    await a.ask('claim', id, { ttlMs: 600, heartbeatMs: 200 });
    await a.freeze();
    await new Promise((resolve) => setTimeout(resolve, 900));
    a.thaw();
    expect(await a.ask('checkpoint', id, { n: 1 })).toBe(1);
    expect(await a.ask('complete', id, { n: 1 })).toBe('completed');
  });
});

describe('work that kills its workers', () => {
  it('is claimed max_attempts times, then dead, and the other work goes on', async () => {
    await using temp = await tempStore();
    const poisoned = await aHandoff(temp.store, { budget: { max_attempts: 3 } });
    const sound = await aHandoff(temp.store);
    await using supervisor = new Supervisor(temp.store, { pollMs: 50 });
    supervisor.start();
    let claims = 0;
    await eventually(async () => {
      const { state } = await status(temp.store, poisoned);
      if (state === 'dead') return true;
      await using worker = await Puppet.start(temp.url);
      if ((await worker.call('acquire', poisoned)).error === undefined) claims += 1;
      await worker.call('abort');
      expect(await worker.ended()).toBe('SIGABRT');
      await eventually(async () => (await status(temp.store, poisoned)).holder === null);
    });
    expect(claims).toBe(3);
    expect(await status(temp.store, poisoned)).toMatchObject({ reason: 'worker-died', attempts: 3 });
    await expect(acquire(temp.store, poisoned, { workerId: 'c' })).rejects.toMatchObject({ code: 'E_STATE' });
    await using ctx = await acquire(temp.store, sound, { workerId: 'c' });
    expect((await ctx.complete({ n: 1 })).state).toBe('completed');
  });
});

describe('rivals', () => {
  it('ten recoverers have one winner', async () => {
    await using temp = await tempStore();
    await using one = await Puppet.start(temp.url);
    await using two = await Puppet.start(temp.url);
    for (let round = 0; round < 5; round += 1) {
      const id = await aHandoff(temp.store);
      await using ctx = await claim(temp.store, id, { workerId: 'first' });
      await ctx.release();
      const calls = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? one : two).call('recover', id));
      const outcomes = await Promise.all(calls);
      expect(outcomes.filter(({ error }) => error === undefined)).toHaveLength(1);
      expect(outcomes.filter(({ error }) => error?.code === 'E_STATE')).toHaveLength(9);
      expect(await status(temp.store, id)).toMatchObject({ state: 'claimed', fence: 3n });
    }
  });

  it('recovery at start-up never runs what another start has just begun', async () => {
    await using temp = await tempStore();
    const ids: string[] = [];
    for (let n = 0; n < 200; n += 1) ids.push(await aHandoff(temp.store));
    const bodies = new Map<string, number>();
    await using supervisor = new Supervisor(temp.store, { pollMs: 20 });
    supervisor.start();
    const run = async (take: typeof claim, id: string): Promise<void> => {
      try {
        await using ctx = await take(temp.store, id, { workerId: 'a' });
        bodies.set(id, (bodies.get(id) ?? 0) + 1);
        await ctx.complete({ n: 1 });
      } catch (error) {
        if (!(error instanceof DhpError) || error.code !== 'E_STATE') throw error;
      }
    };
    await Promise.all(ids.flatMap((id) => [run(claim, id), run(recover, id), run(acquire, id)]));
    expect([...bodies.values()]).toEqual(ids.map(() => 1));
    for (const id of ids) expect(await status(temp.store, id)).toMatchObject({ state: 'completed', attempts: 1 });
  });
});
