import { deepEqual, equal, notEqual } from 'node:assert/strict';
import type { Handoff, State, Store } from '../types.ts';
import {
  advanced,
  type ConformanceCase,
  claimed,
  dispatched,
  freshIntent,
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

/** How to bring a handoff into each state. */
const MAKE: Readonly<Record<State, (store: Store) => Promise<Handoff>>> = {
  pending: async (store) => present(store, await dispatched(store)),
  claimed: (store) => claimed(store),
  orphaned: async (store) => store.release(tokenOf(await claimed(store)), 'drain'),
  completed: async (store) => store.complete(tokenOf(await claimed(store)), RESULT),
  dead: async (store) => store.fail(tokenOf(await claimed(store)), { message: 'no' }, false),
  cancelled: async (store) => store.cancel(await dispatched(store)),
};

interface Write {
  readonly allowed: readonly State[];
  readonly refusedWith: 'E_STATE' | 'E_LEASE_LOST' | false;
  /** Attempted with the present fence, so that nothing but the state can be the reason of a refusal. */
  attempt(store: Store, handoff: Handoff): Promise<unknown>;
}

const WRITES: Readonly<Record<string, Write>> = {
  claim: operator(['pending'], (store, { id }) => store.claim(id, worker('other'), LEASE)),
  recover: operator(['orphaned'], (store, { id }) => store.recover(id, worker('other'), LEASE)),
  cancel: operator(['pending', 'claimed', 'orphaned'], (store, { id }) => store.cancel(id)),
  requeue: operator(['dead'], (store, { id }) => store.requeue(id, { attempts: 1 })),
  heartbeat: holder((store, it) => store.heartbeat(tokenOf(it))),
  checkpoint: holder((store, it) => store.checkpoint(tokenOf(it), nextRecord(it))),
  complete: holder((store, it) => store.complete(tokenOf(it), { answer: 1 })),
  release: holder((store, it) => store.release(tokenOf(it), 'drain')),
  fail: holder((store, it) => store.fail(tokenOf(it), 'no', true)),
  quarantine: holder(async (store, it) => {
    const later = it.state === 'claimed' ? await advanced(store, it) : it;
    return store.quarantine(tokenOf(it), later.seq, 'unusable');
  }),
  orphan: observer(['claimed'], (store, it) => store.orphan(tokenOf(it), 'expired')),
  park: observer(['pending', 'claimed', 'orphaned'], (store, it) => store.park(tokenOf(it), 'poisoned')),
};

const refusals: readonly ConformanceCase[] = Object.entries(WRITES).map(([name, write]) => ({
  name: `${name} is for ${write.allowed.join(', ')} and refused elsewhere without a trace`,
  async run(open) {
    const store = await open();
    for (const [state, make] of Object.entries(MAKE)) {
      const handoff = await make(store);
      equal(handoff.state, state);
      if (write.allowed.includes(handoff.state)) {
        notEqual(await write.attempt(store, handoff), false, `${name} of ${state}`);
      } else if (write.refusedWith === false) {
        equal(await unchanged(store, handoff.id, () => write.attempt(store, handoff)), false, `${name} of ${state}`);
      } else {
        const code = write.refusedWith;
        const error = await unchanged(store, handoff.id, () => refusal(code, write.attempt(store, handoff)));
        deepEqual([error.details['state'], error.details['fence']], [state, String(handoff.fence)]);
      }
    }
  },
}));

export const transitions: readonly ConformanceCase[] = [
  {
    name: 'dispatch makes a pending handoff, once per intent, whatever became of it',
    async run(open, clock) {
      const store = await open();
      const intent = freshIntent();
      const { id, created } = await store.dispatch(intent);
      equal(created, true);
      const first = await present(store, id);
      deepEqual([first.state, first.fence, first.attempts, first.seq, first.head], ['pending', 0n, 0, 0, id]);
      deepEqual(first.intent, intent);
      equal(first.createdAt, clock.now());
      deepEqual(await unchanged(store, id, () => store.dispatch(intent)), { id, created: false });
      await store.cancel(id);
      deepEqual(await unchanged(store, id, () => store.dispatch(intent)), { id, created: false });
    },
  },
  {
    name: 'a nonce makes a second handoff of the same work',
    async run(open) {
      const store = await open();
      const intent = freshIntent();
      const other = await store.dispatch({ ...intent, nonce: `${intent.nonce}, again` });
      deepEqual([(await store.dispatch(intent)).created, other.created], [true, true]);
    },
  },
  {
    name: 'an intent that cannot be hashed, or whose schema does not compile, is refused at dispatch',
    async run(open) {
      const store = await open();
      const intent = freshIntent();
      await refusal('E_CANONICAL', store.dispatch({ ...intent, inputs: { x: Number.NaN } }));
      await refusal('E_SCHEMA', store.dispatch({ ...intent, output_schema: { type: 'matrix' } }));
      await refusal('E_ARGUMENT', store.dispatch({ ...intent, task_kind: '' }));
      await refusal('E_ARGUMENT', store.dispatch({ ...intent, budget: { ...intent.budget, max_attempts: 0 } }));
    },
  },
  {
    name: 'nothing can be done to a handoff that does not exist',
    async run(open) {
      const store = await open();
      const ghost: Handoff = { ...(await claimed(store)), id: 'h1_nobody', head: 'h1_nobody' };
      equal(await store.get(ghost.id), null);
      for (const write of Object.values(WRITES).filter((it) => it !== WRITES['quarantine'])) {
        await refusal('E_NOT_FOUND', write.attempt(store, ghost));
      }
      await refusal('E_NOT_FOUND', store.quarantine(tokenOf(ghost), 1, 'unusable'));
      await refusal('E_NOT_FOUND', store.lastCheckpoint(ghost.id));
    },
  },
  ...refusals,
  {
    name: 'the whole table, one life long: state, reason, fence and attempts of each step',
    async run(open, clock) {
      const store = await open();
      const seen: unknown[] = [];
      const note = (it: Handoff): Handoff => {
        seen.push([it.state, it.reason, it.fence, it.attempts, it.releases]);
        return it;
      };
      const { id } = note(await claimed(store, { max_attempts: 3 }));
      await store.heartbeat({ id, fence: 1n });
      note(await advanced(store, await present(store, id)));
      note(await store.release({ id, fence: 1n }, 'drain'));
      clock.advance(1000);
      const second = note(await recovered(store, id));
      deepEqual([second.claimedAt, second.counter, second.holder], [clock.now(), 0, worker('next')]);
      note(await store.fail(tokenOf(second), { message: 'once' }, true));
      const third = note(await recovered(store, id));
      equal(await store.orphan(tokenOf(third), 'expired'), true);
      note(await present(store, id));
      const fourth = note(await recovered(store, id));
      note(await store.fail(tokenOf(fourth), { message: 'for good' }, false));
      note(await store.requeue(id, { attempts: 1 }));
      const fifth = note(await recovered(store, id));
      note(await store.complete(tokenOf(fifth), RESULT));
      deepEqual(seen, [
        ['claimed', null, 1n, 1, 0],
        ['claimed', null, 1n, 1, 0],
        ['orphaned', 'drain', 2n, 0, 1],
        ['claimed', null, 3n, 1, 1],
        ['orphaned', 'failed', 4n, 1, 1],
        ['claimed', null, 5n, 2, 1],
        ['orphaned', 'expired', 6n, 2, 1],
        ['claimed', null, 7n, 3, 1],
        ['dead', 'failed', 8n, 3, 1],
        ['orphaned', 'requeued', 9n, 3, 1],
        ['claimed', null, 10n, 4, 1],
        ['completed', null, 10n, 4, 1],
      ]);
      deepEqual(await historyOf(store, id), [
        'dispatched',
        'claimed',
        'checkpoint',
        'released',
        'recovered',
        'failed',
        'recovered',
        'orphaned',
        'recovered',
        'failed',
        'dead',
        'requeued',
        'recovered',
        'completed',
      ]);
    },
  },
  {
    name: 'only a claimed handoff has a holder, a lease and a claim time',
    async run(open) {
      const store = await open();
      for (const make of Object.values(MAKE)) {
        const { state, holder: who, lease, claimedAt } = await make(store);
        deepEqual(
          [who, lease, claimedAt].map((it) => it !== null),
          Array.from({ length: 3 }, () => state === 'claimed'),
          state,
        );
      }
    },
  },
  {
    name: 'a result is checked against the output schema; a refused one leaves the claim alive',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      for (const wrong of [{ answer: '42' }, {}, null, { answer: 42, more: 1 }]) {
        await unchanged(store, handoff.id, () => refusal('E_RESULT', store.complete(tokenOf(handoff), wrong)));
      }
      await refusal('E_CANONICAL', store.complete(tokenOf(handoff), { answer: Number.NaN }));
      deepEqual((await store.complete(tokenOf(handoff), RESULT)).result, RESULT);
      deepEqual((await present(store, handoff.id)).result, RESULT);
    },
  },
  {
    name: 'claiming a completed handoff is refused and hands over its result',
    async run(open) {
      const store = await open();
      const { id } = await MAKE.completed(store);
      const error = await refusal('E_STATE', store.claim(id, worker('late'), LEASE));
      deepEqual([error.details['state'], error.details['result']], ['completed', RESULT]);
    },
  },
  {
    name: 'a lease shorter than three heartbeats is refused',
    async run(open) {
      const store = await open();
      const id = await dispatched(store);
      await refusal('E_ARGUMENT', store.claim(id, worker('hasty'), { ttlMs: 5999, heartbeatMs: 2000 }));
      const year = 365 * 24 * 3600 * 1000;
      deepEqual((await store.claim(id, worker('calm'), { ttlMs: 3 * year, heartbeatMs: year })).lease, {
        ttlMs: 3 * year,
        heartbeatMs: year,
      });
    },
  },
];

function operator(allowed: readonly State[], attempt: Write['attempt']): Write {
  return { allowed, refusedWith: 'E_STATE', attempt };
}

function holder(attempt: Write['attempt']): Write {
  return { allowed: ['claimed'], refusedWith: 'E_LEASE_LOST', attempt };
}

function observer(allowed: readonly State[], attempt: Write['attempt']): Write {
  return { allowed, refusedWith: false, attempt };
}
