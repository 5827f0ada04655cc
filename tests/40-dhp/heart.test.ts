import { cancel, claim, dispatch, LeaseLost, openStore, status, Supervisor } from 'uhop/dhp';
import { describe, expect, it } from 'vitest';
import { Puppet } from '../support/puppet.ts';
import { aHandoff, eventually, inState, tempStore } from '../support/store.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;

describe('the heart', () => {
  for (const [how, command] of [
    ['a blocked event loop', 'spin'],
    ['a long synchronous native call', 'native'],
  ] as const) {
    it(`keeps the lease through ${how}`, async () => {
      await using temp = await tempStore();
      const id = await aHandoff(temp.store);
      await using worker = await Puppet.start(temp.url);
      await worker.ask('claim', id, { ttlMs: 1500, heartbeatMs: 300 });
      const supervised: string[] = [];
      await using supervisor = new Supervisor(temp.store, { onEvent: ({ type }) => supervised.push(type) });
      supervisor.start();

      const before = (await status(temp.store, id)).counter;
      await worker.ask(command, 4500);

      const after = await status(temp.store, id);
      expect(after).toMatchObject({ state: 'claimed', fence: 1n });
      expect(after.counter).toBeGreaterThanOrEqual(before + 5);
      expect(supervised).not.toContain('orphaned');
      expect(await worker.ask('isAborted', id)).toBe(false);
      expect(await worker.ask('complete', id, { n: 1 })).toBe('completed');
    });
  }

  it('sends the first renewal at the claim, not a heartbeat later', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using ctx = await claim(temp.store, id, { workerId: 'a', heartbeatMs: HOUR });
    await eventually(async () => (await status(temp.store, id)).counter === 1);
    expect(ctx.signal.aborted).toBe(false);
  });

  it('beats once, not without pause, for a lease of years', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using ctx = await claim(temp.store, id, {
      workerId: 'a',
      ttlMs: 5 * YEAR,
      heartbeatMs: YEAR,
      progressTimeoutMs: YEAR,
    });
    await eventually(async () => (await status(temp.store, id)).counter === 1);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await status(temp.store, id)).counter).toBe(1);
    expect(ctx.signal.aborted).toBe(false);
  });

  for (const url of ['memory:', 'sqlite'] as const) {
    it(`brings a cancellation to the holder within a heartbeat (${url})`, async () => {
      await using temp = await tempStore();
      await using store = await openStore(url === 'memory:' ? url : temp.url);
      const id = await aHandoff(store);
      // The TTL is an hour, so nothing but the next heartbeat can tell.
      await using ctx = await claim(store, id, { workerId: 'a', ttlMs: HOUR, heartbeatMs: 200 });
      await cancel(store, id);
      await eventually(() => ctx.signal.aborted);
      expect(ctx.signal.reason).toBeInstanceOf(LeaseLost);
      expect(ctx.signal.reason.details).toMatchObject({ state: 'cancelled' });
      await expect(ctx.checkpoint({ n: 1 })).rejects.toBeInstanceOf(LeaseLost);
    });
  }

  it('gives up work that makes no progress, also while its thread hangs', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using worker = await Puppet.start(temp.url);
    await worker.ask('claim', id, { ttlMs: HOUR, heartbeatMs: 100, progressTimeoutMs: 500 });
    const hanging = worker.call('spin', HOUR);
    const orphaned = await inState(temp.store, id, 'orphaned');
    expect(orphaned).toMatchObject({ reason: 'stalled', attempts: 1, holder: null });
    worker.signal('SIGKILL');
    await hanging;
  });

  it('takes each checkpoint for progress', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using ctx = await claim(temp.store, id, {
      workerId: 'a',
      ttlMs: HOUR,
      heartbeatMs: 100,
      progressTimeoutMs: 2000,
    });
    const first = (await status(temp.store, id)).counter;
    // Beats go on for longer than the timeout: 40 of them at 100 ms.
    for (let n = 1; (await status(temp.store, id)).counter < first + 40; n += 1) {
      await ctx.checkpoint({ n });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect((await ctx.complete({ n: 1 })).state).toBe('completed');
  });

  it('neither keeps a process alive nor prints', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using worker = await Puppet.start(temp.url);
    await worker.ask('claim', id);
    await worker.ask('leave');
    expect(await worker.ended()).toBe(0);
    expect(worker.output).toBe('');
  });

  it('refuses lease times that two lost heartbeats would end', async () => {
    await using store = await openStore('memory:');
    const id = await aHandoff(store);
    await expect(claim(store, id, { workerId: 'a', ttlMs: 5999, heartbeatMs: 2000 })).rejects.toMatchObject({
      code: 'E_ARGUMENT',
    });
    await expect(claim(store, id, { workerId: 'a', ttlMs: Number.NaN })).rejects.toMatchObject({ code: 'E_ARGUMENT' });
    expect((await status(store, id)).state).toBe('pending');
  });

  it('refuses a claim when its thread cannot reach the store', async () => {
    await using store = await openStore('memory:');
    const { id } = await dispatch(store, { taskKind: 'test', inputs: 1, outputSchema: true });
    const unreachable = new Proxy(store, {
      get: (target, key) => (key === 'url' ? 'postgres://127.0.0.1:1/none' : Reflect.get(target, key, target)),
    });
    await expect(claim(unreachable, id, { workerId: 'a' })).rejects.toMatchObject({ code: 'E_STORE' });
    expect((await status(store, id)).state).toBe('pending');
  });
});
