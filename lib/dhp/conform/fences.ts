import { deepEqual, equal } from 'node:assert/strict';
import type { Store, Token } from '../types.ts';
import {
  advanced,
  type ConformanceCase,
  claimed,
  dispatched,
  historyOf,
  LEASE,
  nextRecord,
  present,
  RESULT,
  recovered,
  refusal,
  tokenOf,
  unchanged,
  worker,
} from './bench.ts';

type FencedWrite = (store: Store, token: Token) => Promise<unknown>;

/** Each write of a holder, presented with whatever token. */
const HOLDER_WRITES: Readonly<Record<string, FencedWrite>> = {
  heartbeat: (store, token) => store.heartbeat(token),
  checkpoint: async (store, token) => {
    const handoff = await present(store, token.id);
    return store.checkpoint(token, nextRecord({ ...handoff, fence: token.fence }));
  },
  quarantine: async (store, token) => store.quarantine(token, (await present(store, token.id)).seq, 'unusable'),
  complete: (store, token) => store.complete(token, RESULT),
  release: (store, token) => store.release(token, 'drain'),
  fail: (store, token) => store.fail(token, 'no', true),
};

const OBSERVER_WRITES: Readonly<Record<string, (store: Store, token: Token) => Promise<boolean>>> = {
  orphan: (store, token) => store.orphan(token, 'expired'),
  park: (store, token) => store.park(token, 'poisoned'),
};

const wrongFence: readonly ConformanceCase[] = Object.entries(HOLDER_WRITES).map(([name, write]) => ({
  name: `${name} with a fence other than the present one is LeaseLost and changes nothing`,
  async run(open) {
    const store = await open();
    const first = await advanced(store, await claimed(store));
    await store.orphan(tokenOf(first), 'expired');
    const { id, fence } = await recovered(store, first.id);
    for (const wrong of [fence - 2n, fence - 1n, fence + 1n, 0n, -fence]) {
      if (name === 'checkpoint' && wrong < 0n) continue;
      const error = await unchanged(store, id, () => refusal('E_LEASE_LOST', write(store, { id, fence: wrong })));
      deepEqual(
        [error.details['state'], error.details['fence'], error.details['worker']],
        ['claimed', String(fence), 'next'],
      );
    }
    await write(store, { id, fence });
  },
}));

const wrongObservation: readonly ConformanceCase[] = Object.entries(OBSERVER_WRITES).map(([name, write]) => ({
  name: `${name} of a fence that is no more answers false and changes nothing`,
  async run(open) {
    const store = await open();
    const { id, fence } = await claimed(store);
    await store.release({ id, fence }, 'drain');
    const now = await recovered(store, id);
    equal(await unchanged(store, id, () => write(store, { id, fence })), false);
    equal(await write(store, tokenOf(now)), true);
    equal(await unchanged(store, id, () => write(store, tokenOf(now))), false);
    equal((await present(store, id)).fence, now.fence + 1n);
  },
}));

export const fences: readonly ConformanceCase[] = [
  ...wrongFence,
  ...wrongObservation,
  {
    name: 'a holder that slept through its lease cannot touch the work of the next one',
    async run(open) {
      const store = await open();
      const sleeper = await advanced(store, await claimed(store));
      equal(await store.orphan(tokenOf(sleeper), 'expired'), true);
      const next = await advanced(store, await recovered(store, sleeper.id));
      const done = await store.complete(tokenOf(next), { answer: 7 });
      for (const write of Object.values(HOLDER_WRITES)) {
        await unchanged(store, sleeper.id, () => refusal('E_LEASE_LOST', write(store, tokenOf(sleeper))));
      }
      deepEqual(await present(store, sleeper.id), done);
    },
  },
  {
    name: 'a holder is fenced off as soon as it is orphaned, before anybody recovers',
    async run(open) {
      const store = await open();
      const handoff = await advanced(store, await claimed(store));
      await store.orphan(tokenOf(handoff), 'worker-died');
      for (const write of Object.values(HOLDER_WRITES)) {
        await refusal('E_LEASE_LOST', write(store, tokenOf(handoff)));
      }
      equal((await present(store, handoff.id)).state, 'orphaned');
    },
  },
  {
    name: 'the same worker claiming again is another owner',
    async run(open) {
      const store = await open();
      const first = await claimed(store);
      await store.orphan(tokenOf(first), 'expired');
      const second = await recovered(store, first.id, 'first');
      await refusal('E_LEASE_LOST', store.heartbeat(tokenOf(first)));
      await store.heartbeat(tokenOf(second));
    },
  },
  {
    name: 'a token of one handoff is nothing to another with the same fence',
    async run(open) {
      const store = await open();
      const [mine, theirs] = [await claimed(store), await dispatched(store)];
      await refusal('E_LEASE_LOST', store.heartbeat({ id: theirs, fence: mine.fence }));
      await refusal('E_ARGUMENT', store.checkpoint({ id: theirs, fence: mine.fence }, nextRecord(mine)));
    },
  },
  {
    name: 'of ten who claim at once, and ten who recover at once, one wins',
    async run(open) {
      const store = await open();
      const id = await dispatched(store);
      const claims = await contest((name) => store.claim(id, worker(name), LEASE));
      await store.orphan({ id, fence: 1n }, 'expired');
      const recoveries = await contest((name) => store.recover(id, worker(name), LEASE));
      deepEqual([claims, recoveries], [1, 1]);
      const after = await present(store, id);
      deepEqual([after.fence, after.attempts], [3n, 2]);
      deepEqual(await historyOf(store, id), ['dispatched', 'claimed', 'orphaned', 'recovered']);
    },
  },
  {
    name: 'of ten who orphan at once on the same observation, one succeeds and the fence rises once',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      const answers = await Promise.all(Array.from({ length: 10 }, () => store.orphan(tokenOf(handoff), 'expired')));
      equal(answers.filter(Boolean).length, 1);
      equal((await present(store, handoff.id)).fence, handoff.fence + 1n);
    },
  },
];

/** How many of ten rivals got through; the others must have been refused for the state they found. */
async function contest(attempt: (name: string) => Promise<unknown>): Promise<number> {
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => attempt(`rival ${n}`)));
  const losers = outcomes.filter((it) => it.status === 'rejected');
  await Promise.all(losers.map((it) => refusal('E_STATE', Promise.reject(it.reason as Error))));
  return outcomes.length - losers.length;
}
