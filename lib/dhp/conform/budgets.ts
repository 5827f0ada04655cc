import { deepEqual, equal } from 'node:assert/strict';
import type { Budget, Grant, Handoff, Store, Usage } from '../types.ts';
import {
  advanced,
  type ConformanceCase,
  claimed,
  dispatched,
  historyOf,
  LEASE,
  present,
  RESULT,
  recovered,
  refusal,
  tokenOf,
  unchanged,
  worker,
} from './bench.ts';

interface SpendingCap {
  readonly reason: string;
  readonly budget: Partial<Budget>;
  readonly step: Usage;
  readonly grant: Grant;
}

/** Each cap is ten, each step four: the third step crosses it, and the grant makes room for one more. */
const SPENDING: readonly SpendingCap[] = [
  {
    reason: 'max-steps',
    budget: { max_steps: 10 },
    step: { steps: 4, cost: 0, wall_ms: 0 },
    grant: { steps: 6 },
  },
  {
    reason: 'max-cost',
    budget: { max_cost: 10 },
    step: { steps: 0, cost: 4, wall_ms: 0 },
    grant: { cost: 6 },
  },
  {
    reason: 'max-wall-ms',
    budget: { max_wall_ms: 10 },
    step: { steps: 0, cost: 0, wall_ms: 4 },
    grant: { wall_ms: 6 },
  },
];

const spending: readonly ConformanceCase[] = SPENDING.map(({ reason, budget, step, grant }) => ({
  name: `${reason}: the checkpoint that crosses it is kept, then the handoff is dead; a grant lets it go on`,
  async run(open) {
    const store = await open();
    const spend = (handoff: Handoff) => advanced(store, handoff, { usage: step });
    const before = await spend(await spend(await claimed(store, budget)));
    equal(before.state, 'claimed');
    const parked = await spend(before);
    deepEqual([parked.state, parked.reason, parked.seq, parked.fence], ['dead', reason, 3, before.fence + 1n]);
    equal((await store.lastCheckpoint(parked.id))?.seq, 3);
    await refusal('E_LEASE_LOST', store.heartbeat(tokenOf(before)));
    await refusal('E_STATE', store.recover(parked.id, worker('hopeful'), LEASE));
    await unchanged(store, parked.id, () => refusal('E_BUDGET', store.requeue(parked.id, {})));
    equal((await store.requeue(parked.id, grant)).state, 'orphaned');
    const again = await spend(await recovered(store, parked.id));
    deepEqual([again.state, again.seq], ['claimed', 4]);
    equal((await spend(again)).state, 'dead');
    equal((await historyOf(store, parked.id)).filter((type) => type === 'dead').length, 2);
  },
}));

export const budgets: readonly ConformanceCase[] = [
  ...spending,
  {
    name: 'a cap reached exactly is not crossed',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store, { max_steps: 1, max_wall_ms: 10 });
      const full = await advanced(store, handoff, { usage: { steps: 1, cost: 0, wall_ms: 10 } });
      equal(full.state, 'claimed');
      equal((await store.complete(tokenOf(full), RESULT)).state, 'completed');
    },
  },
  {
    name: 'a handoff whose workers die is claimed max_attempts times, then dead for that reason',
    async run(open) {
      const store = await open();
      const id = await dispatched(store, { max_attempts: 3 });
      const { claims, last } = await untilDead(store, id, (it) => store.orphan(tokenOf(it), 'worker-died'));
      deepEqual([claims, last.state, last.reason, last.attempts], [3, 'dead', 'worker-died', 3]);
      await unchanged(store, id, () => refusal('E_STATE', store.recover(id, worker('late'), LEASE)));
    },
  },
  {
    name: 'a failure that may be retried is, until the attempts are used; its error stays to be read',
    async run(open) {
      const store = await open();
      const id = await dispatched(store, { max_attempts: 2 });
      const fail = (it: Handoff) => store.fail(tokenOf(it), { message: `attempt ${it.attempts}` }, true);
      const { claims, last } = await untilDead(store, id, fail);
      deepEqual([claims, last.reason, last.error], [2, 'failed', { message: 'attempt 2' }]);
    },
  },
  {
    name: 'a release costs no attempt, but releases have a cap of their own',
    async run(open) {
      const store = await open();
      const id = await dispatched(store, { max_attempts: 1, max_releases: 4 });
      const { claims, last } = await untilDead(store, id, (it) => store.release(tokenOf(it), 'drain'));
      deepEqual([claims, last.reason, last.attempts, last.releases], [5, 'max-releases', 0, 5]);
      equal((await store.requeue(id, { releases: 1 })).state, 'orphaned');
    },
  },
  {
    name: 'attempts without progress have a cap that any checkpoint resets',
    async run(open) {
      const store = await open();
      const id = await dispatched(store, { max_attempts: 100, max_attempts_without_progress: 2 });
      let handoff = await advanced(store, await store.claim(id, worker('first'), LEASE));
      equal(handoff.attemptsWithoutProgress, 0);
      await store.orphan(tokenOf(handoff), 'expired');
      for (const attempt of [1, 2]) {
        handoff = await recovered(store, id);
        equal(handoff.attemptsWithoutProgress, attempt);
        await store.orphan(tokenOf(handoff), 'expired');
      }
      const last = await present(store, id);
      deepEqual([last.state, last.reason], ['dead', 'expired']);
      await refusal('E_BUDGET', store.requeue(id, { attempts: 5 }));
      await store.requeue(id, { attempts_without_progress: 1 });
      equal((await recovered(store, id)).state, 'claimed');
    },
  },
  {
    name: 'grants add up outside the intent: the id stays, and failing again parks again, once',
    async run(open) {
      const store = await open();
      const id = await dispatched(store, { max_attempts: 1 });
      const { intent } = await present(store, id);
      await untilDead(store, id, (it) => store.fail(tokenOf(it), 'no', true));
      for (const sum of [2, 4]) {
        const requeued = await store.requeue(id, { attempts: 2 });
        deepEqual([requeued.state, requeued.reason, requeued.granted.attempts], ['orphaned', 'requeued', sum]);
        const { claims } = await untilDead(store, id, (it) => store.fail(tokenOf(it), 'no', true));
        equal(claims, 2);
      }
      deepEqual((await present(store, id)).intent, intent);
      equal((await historyOf(store, id)).filter((type) => type === 'dead').length, 3);
    },
  },
  {
    name: 'a grant of nothing, of less than nothing or of something unknown is refused',
    async run(open) {
      const store = await open();
      const dead = await store.fail(tokenOf(await claimed(store)), 'no', false);
      for (const grant of [{ attempts: 0 }, { steps: -1 }, { attempts: 1.5 }, { tries: 1 }]) {
        await unchanged(store, dead.id, () => refusal('E_ARGUMENT', store.requeue(dead.id, grant as Grant)));
      }
      equal((await store.requeue(dead.id, {})).state, 'orphaned');
    },
  },
  {
    name: 'a parked handoff keeps its checkpoints, its error and the reason given',
    async run(open) {
      const store = await open();
      const handoff = await advanced(store, await claimed(store));
      equal(await store.park(tokenOf(handoff), 'max-wall-ms'), true);
      const parked = await present(store, handoff.id);
      deepEqual([parked.state, parked.reason, parked.seq], ['dead', 'max-wall-ms', 1]);
      equal((await store.checkpoints(handoff.id)).length, 1);
    },
  },
];

/** Claims or recovers and lets `lose` end each claim, until the handoff is dead. */
async function untilDead(
  store: Store,
  id: string,
  lose: (handoff: Handoff) => Promise<unknown>,
): Promise<{ readonly claims: number; readonly last: Handoff }> {
  for (let claims = 0; ; claims += 1) {
    const handoff = await present(store, id);
    if (handoff.state === 'dead' || claims > 100) return { claims, last: handoff };
    const begin = handoff.state === 'pending' ? store.claim : store.recover;
    await lose(await begin.call(store, id, worker(`worker ${claims}`), LEASE));
  }
}
