import { type DhpError, openStore, type Store } from 'uhop/dhp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  advance,
  claimedHandoff,
  eventCounts,
  LEASE,
  pendingHandoff,
  tempDir,
  tokenOf,
  WORKER,
} from '../support/handoffs.ts';
import { StoreChild } from '../support/store-child.ts';

let directory: Awaited<ReturnType<typeof tempDir>>;
let store: Store;

beforeEach(async () => {
  directory = await tempDir();
  store = await openStore(directory.path);
});
afterEach(async () => {
  await store.close();
  await directory[Symbol.asyncDispose]();
});

test('four processes at one file: nobody is told it is busy, nothing is claimed twice', async () => {
  const total = 4 * 500;
  for (let n = 0; n < total; n += 1) await pendingHandoff(store);
  const racers = Array.from({ length: 4 }, () => new StoreChild(directory.path, 'race'));
  await Promise.all(racers.map((it) => it.line()));
  for (const racer of racers) racer.proceed();
  const results = await Promise.all(racers.map((it) => it.line<{ won: string[]; refused: Record<string, number> }>()));
  await Promise.all(racers.map((it) => it.ended()));
  const won = results.flatMap((it) => it!.won);
  expect([won.length, new Set(won).size]).toEqual([total, total]);
  expect(new Set(results.flatMap((it) => Object.keys(it!.refused)))).toEqual(new Set(['E_STATE']));
  const handoffs = await store.list();
  expect(handoffs.every((it) => it.state === 'completed' && it.fence === 1n && it.attempts === 1)).toBe(true);
}, 300_000);

test('a writer killed with SIGKILL: all it was told is stored, at most one thing more, and the next goes on', async () => {
  const id = await pendingHandoff(store, { max_attempts: 100 });
  let acknowledged = 0;
  for (let round = 1; round <= 5; round += 1) {
    await using child = new StoreChild(directory.path, 'write', id);
    for (let lines = 1; ; lines += 1) {
      const said = await child.line<{ acknowledged: number }>();
      if (said === null) break;
      acknowledged = said.acknowledged;
      if (lines === 10 * round) child.kill('SIGKILL');
    }
    await child.ended();
    const left = (await store.get(id))!;
    expect(left.state).toBe('claimed');
    expect(left.seq - acknowledged).toBeGreaterThanOrEqual(0);
    expect(left.seq - acknowledged).toBeLessThanOrEqual(1);
    expect(await store.orphan(tokenOf(left), 'worker-died')).toBe(true);
  }
  const records = await store.checkpoints(id);
  expect(records.map((it) => it.seq)).toEqual(records.map((_, index) => index + 1));
  expect(records.map((it) => it.prev)).toEqual([id, ...records.slice(0, -1).map((it) => it.hash)]);
});

test('a holder frozen past its lease wakes up to find every write refused', async () => {
  const id = await pendingHandoff(store);
  await using sleeper = new StoreChild(directory.path, 'sleep', id);
  const { fence } = (await sleeper.line<{ fence: string }>())!;
  sleeper.kill('SIGSTOP');
  expect(await store.orphan({ id, fence: BigInt(fence) }, 'expired')).toBe(true);
  const next = await store.recover(id, WORKER, LEASE);
  const done = await store.complete(tokenOf(next), 'the next one');
  sleeper.proceed();
  sleeper.kill('SIGCONT');
  expect(await sleeper.line()).toEqual({
    checkpoint: 'E_LEASE_LOST',
    heartbeat: 'E_LEASE_LOST',
    complete: 'E_LEASE_LOST',
    fail: 'E_LEASE_LOST',
    release: 'E_LEASE_LOST',
  });
  await sleeper.ended();
  expect(await store.get(id)).toEqual(done);
  expect(await eventCounts(store, id)).toEqual({
    dispatched: 1,
    claimed: 1,
    checkpoint: 1,
    orphaned: 1,
    recovered: 1,
    completed: 1,
  });
});

test('work that kills its worker is claimed max_attempts times, then a dead letter that says so', async () => {
  const id = await pendingHandoff(store, { max_attempts: 3 });
  let deaths = 0;
  while ((await store.get(id))?.state !== 'dead') {
    await using child = new StoreChild(directory.path, 'abort', id);
    const { fence } = (await child.line<{ fence: string }>())!;
    await child.ended();
    expect(child.process.signalCode).toBe('SIGABRT');
    deaths += 1;
    await store.orphan({ id, fence: BigInt(fence) }, 'worker-died');
  }
  expect([deaths, (await store.get(id))?.reason]).toEqual([3, 'worker-died']);
  await expect(store.recover(id, WORKER, LEASE)).rejects.toMatchObject({ code: 'E_STATE' });
});

test('start-up recovery racing with new work: each piece is begun once', async () => {
  await using other = await openStore(directory.path);
  const ids = await Promise.all(Array.from({ length: 200 }, () => pendingHandoff(store)));
  const attempts = ids.flatMap((id) => [
    store.claim(id, WORKER, LEASE),
    other.recover(id, WORKER, LEASE),
    other.claim(id, WORKER, LEASE),
  ]);
  const outcomes = await Promise.allSettled(attempts);
  const refusals = outcomes.filter((it) => it.status === 'rejected').map((it) => (it.reason as DhpError).code);
  expect(outcomes.length - refusals.length).toBe(200);
  expect(new Set(refusals)).toEqual(new Set(['E_STATE']));
  for (const id of ids) expect(await store.get(id)).toMatchObject({ state: 'claimed', fence: 1n, attempts: 1 });
});

describe('work goes on without the worker that had it', () => {
  test('its process and its store are gone; the id is enough', async () => {
    const id = await pendingHandoff(store);
    await using child = new StoreChild(directory.path, 'abort', id);
    await child.line();
    await child.ended();
    const [lease] = await store.leases();
    expect(lease?.holder.pid).toBe(child.process.pid);
    await store.orphan({ id, fence: lease!.fence }, 'worker-died');
    const next = await advance(store, await store.recover(id, WORKER, LEASE));
    expect((await store.complete(tokenOf(next), null)).state).toBe('completed');
  });

  test('a page full of leases that need nothing does not hide the one that does', async () => {
    const ids = (await Promise.all(Array.from({ length: 16 }, () => claimedHandoff(store)))).map((it) => it.id);
    const last = ids.toSorted().at(-1)!;
    const first = await store.leases(undefined, 10);
    const second = await store.leases(first.at(-1)!.id, 10);
    expect([first.length, second.length, second.at(-1)?.id]).toEqual([10, 6, last]);
  });
});
