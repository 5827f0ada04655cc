import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import {
  claim,
  DhpError,
  type Holder,
  lastCheckpoint,
  type LeaseRow,
  openStore,
  recover,
  status,
  type Store,
  Supervisor,
  type SupervisorEvent,
  thisProcess,
} from 'uhop/dhp';
import { describe, expect, it } from 'vitest';
import { faulty } from '../support/faulty.ts';
import { Puppet } from '../support/puppet.ts';
import { aHandoff, eventually, inState, tempStore } from '../support/store.ts';

const HOUR = 3_600_000;
const LEASE = { ttlMs: 300, heartbeatMs: 100 };
/** A worker on a host that will never be heard of again. */
const ELSEWHERE: Holder = { workerId: 'elsewhere', boot: 'another/1', pid: 1, startTime: '1' };

async function typesOf(store: Store, id: string): Promise<string[]> {
  return (await store.events(0, 10_000)).filter((event) => event.id === id).map(({ type }) => type);
}

describe('the supervisor', () => {
  it('frees a claim that is silent for its TTL, and only then can it be recovered', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await temp.store.claim(id, ELSEWHERE, LEASE);
    await expect(recover(temp.store, id, { workerId: 'b' })).rejects.toMatchObject({ code: 'E_STATE' });
    await using supervisor = new Supervisor(temp.store, { pollMs: 50 });
    const from = performance.now();
    supervisor.start();
    expect(await inState(temp.store, id, 'orphaned')).toMatchObject({ reason: 'expired', holder: null, fence: 2n });
    expect(performance.now() - from).toBeGreaterThanOrEqual(LEASE.ttlMs);
    await using ctx = await recover(temp.store, id, { workerId: 'b' });
    expect(ctx.attempt).toBe(2);
  });

  it('frees the work of a killed process without waiting for the TTL', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await using worker = await Puppet.start(temp.url);
    await using supervisor = new Supervisor(temp.store);
    supervisor.start();
    await worker.ask('claim', id, { ttlMs: HOUR });
    worker.signal('SIGKILL');
    expect(await inState(temp.store, id, 'orphaned')).toMatchObject({ reason: 'worker-died' });
  });

  it('goes past a full page of rows that need nothing', async () => {
    await using temp = await tempStore();
    const ids: string[] = [];
    for (let n = 0; n < 16; n += 1) ids.push(await aHandoff(temp.store));
    ids.sort();
    const silent = ids[15] as string;
    for (const id of ids)
      await temp.store.claim(id, ELSEWHERE, id === silent ? LEASE : { ttlMs: HOUR, heartbeatMs: HOUR / 3 });
    await using supervisor = new Supervisor(temp.store, { pollMs: 50, pageSize: 10 });
    supervisor.start();
    await inState(temp.store, silent, 'orphaned');
    expect(await temp.store.leases('', 100)).toHaveLength(15);
  });

  it('does no harm in numbers', async () => {
    await using temp = await tempStore();
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(await aHandoff(temp.store));
    for (const id of ids) await temp.store.claim(id, ELSEWHERE, LEASE);
    await using first = await Puppet.start(temp.url);
    await using second = await Puppet.start(temp.url);
    await using third = new Supervisor(temp.store, { pollMs: 20 });
    await first.ask('supervise', { pollMs: 20 });
    await second.ask('supervise', { pollMs: 20 });
    third.start();
    for (const id of ids) await inState(temp.store, id, 'orphaned');
    for (const id of ids) expect(await typesOf(temp.store, id)).toEqual(['dispatched', 'claimed', 'orphaned']);
  });

  it('goes on when the leader is frozen', async () => {
    await using temp = await tempStore();
    await using leader = await Puppet.start(temp.url);
    await leader.ask('supervise', { pollMs: 20 });
    await leader.event('leading');
    await leader.freeze();
    const id = await aHandoff(temp.store);
    await temp.store.claim(id, ELSEWHERE, LEASE);
    await using other = new Supervisor(temp.store, { pollMs: 50 });
    other.start();
    expect(await inState(temp.store, id, 'orphaned')).toMatchObject({ reason: 'expired' });
  });

  it('goes on when the leader died with a clock an hour ahead', async () => {
    await using temp = await tempStore();
    await using ahead = await openStore(temp.url, { now: () => Date.now() + HOUR });
    expect(await ahead.acquireLeader('gone', 3000)).toBe(1);
    const id = await aHandoff(temp.store);
    await temp.store.claim(id, ELSEWHERE, LEASE);
    await using supervisor = new Supervisor(temp.store, { pollMs: 50 });
    supervisor.start();
    expect(await inState(temp.store, id, 'orphaned')).toMatchObject({ reason: 'expired' });
  });

  it('forgets what it saw before it was paused itself', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    const ttlMs = 3000;
    await temp.store.claim(id, ELSEWHERE, { ttlMs, heartbeatMs: 500 });
    await using puppet = await Puppet.start(temp.url);
    await puppet.ask('supervise', { pollMs: 50 });
    await puppet.event('leading');
    await puppet.freeze();
    await new Promise((resolve) => setTimeout(resolve, ttlMs + 200));
    puppet.thaw();
    const forgot = await puppet.event('forgot');
    const orphaned = await puppet.event('orphaned', id);
    expect(Number(orphaned['at']) - Number(forgot['at'])).toBeGreaterThanOrEqual(ttlMs);
  });

  it('frees nothing while the store fails, and times silence anew afterwards', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    let failing = false;
    let reads = 0;
    const seen: (SupervisorEvent & { readonly at: number })[] = [];
    const troubled = faulty(temp.store, {
      leases: async (after?: string, limit?: number): Promise<readonly LeaseRow[]> => {
        if (failing) throw new DhpError('E_STORE', 'the disk is away');
        reads += 1;
        return temp.store.leases(after, limit);
      },
    });
    await temp.store.claim(id, ELSEWHERE, LEASE);
    await using supervisor = new Supervisor(troubled, {
      pollMs: 20,
      onEvent: (event) => seen.push({ ...event, at: performance.now() }),
    });
    supervisor.start();
    await eventually(() => reads > 2);
    failing = true;
    const from = performance.now();
    await eventually(
      () => seen.filter(({ type }) => type === 'error').length > 3 && performance.now() - from > LEASE.ttlMs,
    );
    failing = false;
    const orphaned = await eventually(() => seen.find(({ type }) => type === 'orphaned'));
    const lastError = seen.findLast(({ type }) => type === 'error');
    expect(orphaned.at - (lastError?.at ?? 0)).toBeGreaterThanOrEqual(LEASE.ttlMs);
  });

  it('frees the others when one row fails, and tries that one again', async () => {
    await using temp = await tempStore();
    const ids = [await aHandoff(temp.store), await aHandoff(temp.store), await aHandoff(temp.store)].sort();
    const bad = ids[0] as string;
    let refusals = 0;
    const troubled = faulty(temp.store, {
      orphan: async (token, reason): Promise<boolean> => {
        if (token.id === bad && refusals < 2) {
          refusals += 1;
          throw new DhpError('E_STORE', 'not this one');
        }
        return temp.store.orphan(token, reason);
      },
    });
    for (const id of ids) await temp.store.claim(id, ELSEWHERE, LEASE);
    const freed: (string | null)[] = [];
    await using supervisor = new Supervisor(troubled, {
      pollMs: 20,
      onEvent: (event) => {
        if (event.type === 'orphaned' || event.type === 'error') freed.push(event.id);
      },
    });
    supervisor.start();
    await inState(temp.store, bad, 'orphaned');
    expect(freed).toEqual([bad, ids[1], ids[2], bad, bad]);
  });

  it('parks a claim that has used up its wall budget since the last checkpoint', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store, { budget: { max_wall_ms: 1500 } });
    await using ctx = await claim(temp.store, id, { workerId: 'a', ttlMs: HOUR, heartbeatMs: 100 });
    await ctx.checkpoint({ n: 1 }, { usage: { wall_ms: 1300 } });
    await using supervisor = new Supervisor(temp.store, { pollMs: 50 });
    const from = performance.now();
    supervisor.start();
    expect(await inState(temp.store, id, 'dead')).toMatchObject({ reason: 'max-wall-ms', seq: 1 });
    expect(performance.now() - from).toBeGreaterThanOrEqual(200);
    await eventually(() => ctx.signal.aborted);
    expect((await lastCheckpoint(temp.store, id))?.state).toEqual({ n: 1 });
  });

  it('does not look at wall clocks: an hour ahead here, an hour behind there', async () => {
    await using temp = await tempStore();
    await using ahead = await openStore(temp.url, { now: () => Date.now() + HOUR });
    await using behind = await openStore(temp.url, { now: () => Date.now() - HOUR });
    for (const [workerStore, supervisorStore] of [
      [ahead, behind],
      [behind, ahead],
    ] as const) {
      const live = await aHandoff(workerStore);
      const silent = await aHandoff(workerStore);
      await using ctx = await claim(workerStore, live, { workerId: 'a', ttlMs: 1500, heartbeatMs: 100 });
      await workerStore.claim(silent, ELSEWHERE, { ttlMs: 1500, heartbeatMs: 100 });
      await using supervisor = new Supervisor(supervisorStore, { pollMs: 50 });
      supervisor.start();
      // No endless hold of the silent one; and by then the live one has lived for as long: no theft.
      await inState(supervisorStore, silent, 'orphaned');
      expect(await status(supervisorStore, live)).toMatchObject({ state: 'claimed', fence: 1n });
      expect(ctx.signal.aborted).toBe(false);
      await ctx.complete({ n: 1 });
    }
  });

  it('sweeps once on demand, without being started', async () => {
    await using temp = await tempStore();
    const id = await aHandoff(temp.store);
    await temp.store.claim(id, { ...thisProcess('gone'), pid: 2 ** 22 + 1 }, { ttlMs: HOUR, heartbeatMs: HOUR / 3 });
    await new Supervisor(temp.store).sweepOnce();
    expect(await status(temp.store, id)).toMatchObject({ state: 'orphaned', reason: 'worker-died' });
  });
});

describe('blobs', () => {
  it('that nothing named for a day are removed, those that a checkpoint names stay however old', async () => {
    await using temp = await tempStore();
    const { store } = temp;
    await using ctx = await claim(store, await aHandoff(store), { workerId: 'a' });
    const named = (await ctx.checkpoint(null, { blobs: { kept: Buffer.from('named') } })).blobs[0]!.sha256;
    const { sha256: unnamed } = await store.blobs.put(Buffer.from('unnamed'));
    const { sha256: fresh } = await store.blobs.put(Buffer.from('about to be named'));
    const before = new Date(Date.now() - 48 * HOUR);
    for (const sha256 of [named, unnamed]) {
      utimesSync(join(temp.url, 'blobs', sha256.slice(0, 2), sha256), before, before);
    }
    const collected: SupervisorEvent[] = [];
    await using supervisor = new Supervisor(store, {
      pollMs: 50,
      onEvent: (event) => void (event.type === 'collected' && collected.push(event)),
    });
    supervisor.start();
    await eventually(async () => collected.length > 0);
    expect(collected).toEqual([{ type: 'collected', blobs: 1 }]);
    expect(await store.blobs.has(unnamed)).toBe(false);
    expect(await store.blobs.has(fresh)).toBe(true);
    expect(await store.blobs.has(named)).toBe(true);
  });
});
