import { deepEqual, equal, ok } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Handoff, LeaseRow, Store } from '../types.ts';
import {
  advanced,
  type ConformanceCase,
  claimed,
  dispatched,
  LEASE,
  present,
  recovered,
  refusal,
  tokenOf,
  worker,
} from './bench.ts';

export const queries: readonly ConformanceCase[] = [
  {
    name: 'list pages by age and filters by state and kind',
    async run(open, clock) {
      const store = await open();
      const kind = `list ${randomUUID()}`;
      const ids: string[] = [];
      for (let n = 0; n < 7; n += 1) {
        clock.advance(n % 2);
        ids.push(await dispatched(store, {}, kind));
      }
      await dispatched(store, {}, `${kind}, another`);
      const rows = await Promise.all(ids.map((id) => present(store, id)));
      const expected = rows.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
      deepEqual(await store.list({ taskKind: kind }), expected);
      const paged: Handoff[] = [];
      for (;;) {
        const after = paged.at(-1)?.id;
        const page = await store.list({ taskKind: kind, limit: 3, ...(after === undefined ? {} : { after }) });
        if (page.length === 0) break;
        ok(page.length <= 3);
        paged.push(...page);
      }
      deepEqual(paged, expected);
      await store.claim(ids[2]!, worker('first'), LEASE);
      await store.cancel(ids[4]!);
      const idsOf = async (filter: Parameters<Store['list']>[0]) =>
        (await store.list({ taskKind: kind, ...filter })).map((it) => it.id).toSorted();
      deepEqual(await idsOf({ state: 'claimed' }), [ids[2]]);
      deepEqual(await idsOf({ state: ['claimed', 'cancelled'] }), [ids[2], ids[4]].toSorted());
      equal((await idsOf({ state: 'pending' })).length, 5);
      await refusal('E_NOT_FOUND', store.list({ after: 'h1_nobody' }));
      await refusal('E_ARGUMENT', store.list({ limit: 0 }));
    },
  },
  {
    name: 'leases page past any number of rows, and hold the live claims and nothing else',
    async run(open, clock) {
      const store = await open();
      const live = new Map<string, Handoff>();
      for (let n = 0; n < 16; n += 1) {
        const handoff = await claimed(store, { max_wall_ms: 1000 + n });
        live.set(handoff.id, handoff);
      }
      for (const handoff of [await claimed(store), await claimed(store)])
        await store.release(tokenOf(handoff), 'drain');
      await dispatched(store);
      const mine = (await allLeases(store, 10)).filter((row) => live.has(row.id));
      deepEqual(
        mine,
        [...live.values()]
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
          .map(({ id, fence, holder, intent }) => ({
            id,
            fence,
            counter: 0,
            lease: LEASE,
            holder,
            claimedAt: clock.now(),
            wallLeftMs: intent.budget.max_wall_ms,
          })),
      );
      const everyone = await allLeases(store, 1000);
      equal(new Set(everyone.map((row) => row.id)).size, everyone.length);
      deepEqual(
        everyone.filter((row) => live.has(row.id)),
        mine,
      );
    },
  },
  {
    name: 'a heartbeat raises the counter of its own claim; a new claim begins again',
    async run(open) {
      const store = await open();
      const first = await claimed(store);
      for (const counter of [1, 2, 3]) {
        await store.heartbeat(tokenOf(first));
        equal((await leaseOf(store, first.id))?.counter, counter);
      }
      await store.orphan(tokenOf(first), 'expired');
      equal(await leaseOf(store, first.id), undefined);
      await recovered(store, first.id);
      equal((await leaseOf(store, first.id))?.counter, 0);
    },
  },
  {
    name: 'a lease says what is left of the wall budget, grants included',
    async run(open) {
      const store = await open();
      const handoff = await advanced(store, await claimed(store, { max_wall_ms: 100 }));
      equal((await leaseOf(store, handoff.id))?.wallLeftMs, 90);
      await store.park(tokenOf(handoff), 'max-wall-ms');
      await store.requeue(handoff.id, { wall_ms: 50 });
      await recovered(store, handoff.id);
      equal((await leaseOf(store, handoff.id))?.wallLeftMs, 140);
    },
  },
  {
    name: 'events are one ordered feed that can be read from anywhere',
    async run(open, clock) {
      const store = await open();
      const handoff = await claimed(store);
      clock.advance(5);
      await store.release(tokenOf(handoff), 'drain');
      const all: Awaited<ReturnType<Store['events']>>[number][] = [];
      for (;;) {
        const page = await store.events(all.at(-1)?.n ?? 0, 2);
        if (page.length === 0) break;
        all.push(...page);
      }
      ok(all.every((event, index) => index === 0 || event.n > all[index - 1]!.n));
      deepEqual(
        all.filter((it) => it.id === handoff.id).map(({ type, fence, at, data }) => ({ type, fence, at, data })),
        [
          { type: 'dispatched', fence: '0', at: clock.now() - 5, data: { task_kind: 'conformance' } },
          { type: 'claimed', fence: '1', at: clock.now() - 5, data: { worker: 'first', attempt: 1 } },
          { type: 'released', fence: '2', at: clock.now(), data: { reason: 'drain' } },
        ],
      );
    },
  },
  {
    name: 'what a store hands out is a copy',
    async run(open) {
      const store = await open();
      const handoff = await advanced(store, await claimed(store));
      const copies = [await present(store, handoff.id), await store.lastCheckpoint(handoff.id)];
      for (const copy of copies as { state?: unknown; usage: { steps: number } }[]) {
        copy.state = 'vandalised';
        copy.usage.steps = 1e6;
      }
      deepEqual(await present(store, handoff.id), handoff);
      deepEqual((await store.lastCheckpoint(handoff.id))?.usage.steps, 1);
    },
  },
  {
    name: 'clocks that disagree, or step, cost nobody a lease',
    async run(open, clock) {
      const store = await open();
      const handoff = await claimed(store);
      const hour = 3600 * 1000;
      let current = handoff;
      for (const step of [hour, -2 * hour, hour]) {
        clock.advance(step);
        await store.heartbeat(tokenOf(handoff));
        await refusal('E_STATE', store.recover(handoff.id, worker('thief'), LEASE));
        current = await advanced(store, current);
      }
      deepEqual([current.state, current.fence, current.seq], ['claimed', handoff.fence, 3]);
    },
  },
  {
    name: 'one leader at a time, by term; a stale term renews nothing',
    async run(open, clock) {
      const store = await open();
      const [ann, bob] = [`ann ${randomUUID()}`, `bob ${randomUUID()}`];
      const term = await seize(store, ann, clock.advance);
      equal(await store.acquireLeader(bob, 1000), null);
      equal(await store.acquireLeader(ann, 1000), term);
      equal(await store.renewLeader(ann, term, 1000), true);
      equal(await store.renewLeader(bob, term, 1000), false);
      equal(await store.renewLeader(ann, term + 1, 1000), false);
      clock.advance(1001);
      equal(await store.acquireLeader(bob, 1000), term + 1);
      equal(await store.renewLeader(ann, term, 1000), false);
      equal(await store.acquireLeader(ann, 1000), null);
      clock.advance(900);
      equal(await store.renewLeader(bob, term + 1, 1000), true);
      clock.advance(900);
      equal(await store.acquireLeader(ann, 1000), null);
    },
  },
  {
    name: 'closing twice is closing; a closed store says so',
    async run(open) {
      const store = await open();
      const id = await dispatched(store);
      await store.close();
      await store.close();
      const error = await refusal('E_STORE', store.get(id));
      ok(error.message.includes('closed'));
    },
  },
];

async function allLeases(store: Store, limit: number): Promise<readonly LeaseRow[]> {
  const rows: LeaseRow[] = [];
  for (;;) {
    const page = await store.leases(rows.at(-1)?.id, limit);
    if (page.length === 0) return rows;
    rows.push(...page);
  }
}

async function leaseOf(store: Store, id: string): Promise<LeaseRow | undefined> {
  return (await allLeases(store, 100)).find((row) => row.id === id);
}

/** Becomes leader, waiting out whoever a store that is not empty remembers. */
async function seize(store: Store, candidate: string, advance: (ms: number) => void): Promise<number> {
  for (;;) {
    const term = await store.acquireLeader(candidate, 1000);
    if (term !== null) return term;
    advance(60_000);
  }
}
