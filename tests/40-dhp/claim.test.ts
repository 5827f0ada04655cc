import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import {
  acquire,
  cancel,
  claim,
  type ClaimContext,
  DhpError,
  dispatch,
  lastCheckpoint,
  LeaseLost,
  list,
  openStore,
  recover,
  requeue,
  status,
  type Store,
} from 'uhop/dhp';
import { describe, expect, it } from 'vitest';
import { faulty } from '../support/faulty.ts';
import { aHandoff, eventually, tempStore } from '../support/store.ts';

const A = { workerId: 'a' };
const HOUR = 3_600_000;

const away = (): DhpError => new DhpError('E_STORE', 'the store is away');

/** Does the call, then reports a failure as if the answer had been lost; the first `times` times. */
function answerLost<A extends unknown[], R>(
  call: (...args: A) => Promise<R>,
  times: number,
): (...args: A) => Promise<R> {
  let left = times;
  return async (...args) => {
    const value = await call(...args);
    left -= 1;
    if (left >= 0) throw away();
    return value;
  };
}

async function blobFile(folder: string, sha256: string): Promise<string> {
  const blobs = join(folder, 'blobs');
  const found = (await readdir(blobs, { recursive: true })).find((name) => name.endsWith(sha256));
  return join(blobs, found as string);
}

describe('a claim', () => {
  for (const url of ['memory:', 'sqlite']) {
    it(`takes work from dispatch to its result (${url})`, async () => {
      await using temp = await tempStore();
      await using store = await openStore(url === 'sqlite' ? temp.url : url);
      const request = { taskKind: 'sum', inputs: [1, 2], outputSchema: { type: 'integer' } } as const;
      const { id, created, state, result } = await dispatch(store, request);
      expect({ created, state, result }).toEqual({ created: true, state: 'pending', result: null });
      expect(await lastCheckpoint(store, id)).toBeNull();

      await using ctx = await claim(store, id, A);
      expect(ctx).toMatchObject({ id, fence: 1n, attempt: 1 });
      expect(await ctx.restore()).toBeNull();
      const first = await ctx.checkpoint({ done: 1 }, { blobs: { part: Buffer.from('one') } });
      const second = await ctx.checkpoint({ done: 2 }, { usage: { steps: 5, cost: 0.5 } });
      expect(second).toMatchObject({ seq: 2, prev: first.hash, usage: { steps: 5, cost: 0.5 } });
      expect(first.usage).toMatchObject({ steps: 1, cost: 0 });
      expect(await lastCheckpoint(store, id)).toEqual(second);
      expect((await ctx.complete(3)).state).toBe('completed');
      await expect(ctx.complete(3)).rejects.toMatchObject({ code: 'E_STATE' });

      expect(await dispatch(store, request)).toEqual({ id, created: false, state: 'completed', result: 3 });
      for (const take of [claim, recover, acquire]) {
        await expect(take(store, id, A)).rejects.toMatchObject({ code: 'E_STATE', details: { result: 3 } });
      }
      expect((await list(store, { state: 'completed' })).map((each) => each.id)).toEqual([id]);
    });
  }

  it('counts the time between checkpoints by itself', async () => {
    await using store = await openStore('memory:');
    await using ctx = await claim(store, await aHandoff(store), A);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await ctx.checkpoint(1)).usage.wall_ms).toBeGreaterThanOrEqual(49);
    expect((await ctx.checkpoint(2)).usage.wall_ms).toBeLessThan(49);
  });

  it('writes in the order of the calls', async () => {
    await using temp = await tempStore();
    await using ctx = await claim(temp.store, await aHandoff(temp.store), A);
    const blobs = { part: new Uint8Array(1 << 20) };
    const records = await Promise.all([ctx.checkpoint(1, { blobs }), ctx.checkpoint(2), ctx.checkpoint(3, { blobs })]);
    expect(records.map(({ seq, state }) => [seq, state])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it('left without an end is released as abandoned, and costs no attempt', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    const work = async (): Promise<void> => {
      await using ctx = await claim(temp.store, id, A);
      await ctx.checkpoint({ n: 1 });
      throw new Error('in the middle');
    };
    await expect(work()).rejects.toThrow('in the middle');
    expect(await status(temp.store, id)).toMatchObject({ state: 'orphaned', reason: 'abandoned', attempts: 0, seq: 1 });
  });

  it('lives on after a result that its schema refuses', async () => {
    await using store = await openStore('memory:');
    const id = await aHandoff(store);
    await using ctx = await claim(store, id, A);
    await expect(ctx.complete({ n: 'many' })).rejects.toMatchObject({ code: 'E_RESULT' });
    expect((await ctx.complete({ n: 1 })).state).toBe('completed');
  });

  it('keeps what failed and why, for the next attempt or the dead letters', async () => {
    await using store = await openStore('memory:');
    const id = await aHandoff(store);
    await using first = await claim(store, id, A);
    expect(await first.fail(new TypeError('odd'))).toMatchObject({ state: 'orphaned', reason: 'failed' });
    expect((await status(store, id)).error).toEqual({ name: 'TypeError', message: 'odd' });
    await using second = await recover(store, id, A);
    expect(await second.fail('hopeless', { retryable: false })).toMatchObject({ state: 'dead', attempts: 2 });
    expect((await requeue(store, id)).state).toBe('orphaned');
    await using third = await acquire(store, id, A);
    expect(third.attempt).toBe(3);
  });

  it('keeps the checkpoint that crosses a cap, then stops', async () => {
    await using store = await openStore('memory:');
    const id = await aHandoff(store, { budget: { max_steps: 2 } });
    await using ctx = await claim(store, id, A);
    await ctx.checkpoint(1, { usage: { steps: 2 } });
    await expect(ctx.checkpoint(2)).rejects.toMatchObject({ code: 'E_BUDGET' });
    expect(ctx.signal.reason).toMatchObject({ code: 'E_BUDGET' });
    expect(await status(store, id)).toMatchObject({ state: 'dead', reason: 'max-steps', seq: 2, usage: { steps: 3 } });
    expect((await lastCheckpoint(store, id))?.state).toBe(2);
  });

  it('hands the caller its own signal too, and still lets it write', async () => {
    await using store = await openStore('memory:');
    const caller = new AbortController();
    await using ctx = await claim(store, await aHandoff(store), { ...A, signal: caller.signal });
    caller.abort(new Error('shutting down'));
    expect(ctx.signal.reason).toEqual(new Error('shutting down'));
    expect((await ctx.checkpoint(1)).seq).toBe(1);
    expect((await ctx.release('drained')).reason).toBe('drained');
    const late = claim(store, await aHandoff(store), { ...A, signal: caller.signal });
    await expect(late).rejects.toThrow('shutting down');
  });

  it('can be taken from every state that nobody owns', async () => {
    await using store = await openStore('memory:');
    const ways: Record<string, (ctx: ClaimContext) => Promise<unknown>> = {
      released: (ctx) => ctx.release(),
      failed: (ctx) => ctx.fail('once'),
      expired: (ctx) => store.orphan(ctx, 'expired'),
      requeued: async (ctx) => {
        await store.park(ctx, 'by hand');
        await requeue(store, ctx.id, { attempts: 1 });
      },
    };
    for (const [reason, leave] of Object.entries(ways)) {
      const id = await aHandoff(store);
      await using first = await acquire(store, id, A);
      await leave(first);
      expect(await status(store, id)).toMatchObject({ state: 'orphaned', reason, holder: null });
      await using second = await acquire(store, id, A);
      expect(second.fence).toBeGreaterThan(first.fence);
    }
    const cancelled = await aHandoff(store);
    await cancel(store, cancelled);
    await expect(acquire(store, cancelled, A)).rejects.toMatchObject({ code: 'E_STATE' });
    await expect(acquire(store, 'h1_none', A)).rejects.toMatchObject({ code: 'E_NOT_FOUND' });
  });
});

describe('a write of unknown outcome', () => {
  const once = (store: Store, method: 'checkpoint' | 'complete' | 'release' | 'fail', times = 1): Store =>
    faulty(store, {
      [method]: answerLost((store[method] as (...args: unknown[]) => Promise<unknown>).bind(store), times),
    });

  it('is one checkpoint, however often the answer is lost', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using ctx = await claim(once(temp.store, 'checkpoint', 3), id, A);
    const record = await ctx.checkpoint({ n: 1 });
    expect(await temp.store.checkpoints(id)).toEqual([record]);
    expect((await ctx.checkpoint({ n: 2 })).seq).toBe(2);
  });

  it('is found by the next write when the store stays silent', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using ctx = await claim(once(temp.store, 'checkpoint', 5), id, A);
    await expect(ctx.checkpoint({ n: 1 })).rejects.toMatchObject({ code: 'E_STORE' });
    expect((await ctx.checkpoint({ n: 2 })).seq).toBe(2);
    expect((await temp.store.checkpoints(id)).map(({ state }) => state)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('is one completion, one release, one failure', async () => {
    await using temp = await tempStore();
    const ends = {
      complete: (ctx: ClaimContext) => ctx.complete({ n: 1 }),
      release: (ctx: ClaimContext) => ctx.release(),
      fail: (ctx: ClaimContext) => ctx.fail('once'),
    };
    for (const [method, end] of Object.entries(ends)) {
      const id = await aHandoff(temp.store);
      await using ctx = await claim(once(temp.store, method as keyof typeof ends), id, A);
      await end(ctx);
      const types = (await temp.store.events()).filter((event) => event.id === id).map(({ type }) => type);
      expect(types).toEqual(['dispatched', 'claimed', `${method.replace(/e$/, '')}ed`]);
    }
  });
});

describe('a holder that cannot renew', () => {
  it('stops by its own deadline, and goes on only after a renewal', async () => {
    await using store = await openStore('memory:');
    let failing = true;
    const cut = faulty(store, {
      heartbeat: async (token) => {
        if (failing) throw away();
        await store.heartbeat(token);
      },
    });
    const id = await aHandoff(store);
    await using ctx = await claim(cut, id, { ...A, ttlMs: 300, heartbeatMs: 100 });
    await eventually(() => ctx.signal.aborted);
    expect(ctx.signal.reason).toBeInstanceOf(LeaseLost);
    // The store would take the write; the holder does not send it.
    await expect(ctx.checkpoint(1)).rejects.toMatchObject({ code: 'E_STORE' });
    expect(await status(store, id)).toMatchObject({ state: 'claimed', seq: 0, counter: 0 });
    failing = false;
    expect((await ctx.checkpoint(1)).seq).toBe(1);
  });
});

describe('restore', () => {
  const damages = {
    'a missing blob': (file: string) => rm(file),
    'a damaged blob': (file: string) => writeFile(file, 'something else'),
  };
  for (const [name, damage] of Object.entries(damages)) {
    it(`steps back over a checkpoint with ${name}, once for all`, async () => {
      await using temp = await tempStore();
      const id = await aHandoff(temp.store);
      await using first = await claim(temp.store, id, { ...A, ttlMs: HOUR });
      for (const n of [1, 2, 3]) await first.checkpoint({ n }, { blobs: { part: Buffer.from(`part ${n}`) } });
      await first.release();
      for (const record of (await temp.store.checkpoints(id)).slice(1)) {
        await damage(await blobFile(temp.url, record.blobs[0]?.sha256 ?? ''));
      }

      for (const attempt of [1, 2]) {
        await using ctx = await recover(temp.store, id, { workerId: `b${attempt}` });
        const restored = await ctx.restore();
        expect(restored?.state).toEqual({ n: 1 });
        expect(Buffer.from(restored?.blobs.get('part') ?? []).toString()).toBe('part 1');
      }
      const quarantined = (await temp.store.events()).filter(({ type }) => type === 'quarantined');
      expect(quarantined).toHaveLength(2);

      await using last = await recover(temp.store, id, A);
      await last.restore();
      expect((await last.checkpoint({ n: 2 })).seq).toBe(2);
    });
  }

  it('cuts the whole chain at a damaged record, once, and hands back what stood behind it', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using ctx = await claim(temp.store, id, { ...A, ttlMs: HOUR });
    for (const n of [1, 2, 3, 4, 5]) await ctx.checkpoint({ n });
    const before = await temp.store.checkpoints(id);
    expect(await ctx.restoreChain()).toEqual({ records: before, cutOff: [] });

    const db = new Database(join(temp.url, 'dhp.sqlite'));
    for (const seq of [2, 4]) db.prepare("UPDATE checkpoints SET body = '{' WHERE seq = ?").run(seq);
    db.close();
    expect(await ctx.restoreChain()).toEqual({ records: before.slice(0, 1), cutOff: before.slice(4) });
    expect(await ctx.restoreChain()).toEqual({ records: before.slice(0, 1), cutOff: [] });
    expect((await temp.store.events()).filter(({ type }) => type === 'quarantined')).toHaveLength(1);
    expect(await ctx.checkpoint({ n: 6 })).toMatchObject({ seq: 2, prev: before[0]?.hash });
  });

  it('answers null when no checkpoint is left to go on from', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using ctx = await claim(temp.store, id, A);
    const record = await ctx.checkpoint({ n: 1 }, { blobs: { part: Buffer.from('one') } });
    await rm(await blobFile(temp.url, record.blobs[0]?.sha256 ?? ''));
    expect(await ctx.restore()).toBeNull();
    expect((await ctx.checkpoint({ n: 1 })).seq).toBe(1);
  });
});
