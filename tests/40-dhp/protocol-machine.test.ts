import * as fc from 'fast-check';
import { type Handoff, makeIntent, openStore, type State } from 'uhop/dhp';
import { expect, test } from 'vitest';
// The state machine is no public API, and a random walk wants it without a store round it.
import type { Event } from '../../dist/lib/dhp/protocol/events.js';
import { apply } from '../../dist/lib/dhp/protocol/machine.js';
import { LEASE, nextRecord, WORKER } from '../support/handoffs.ts';

const MAX_ATTEMPTS = 3;
const OWNERSHIP: ReadonlySet<string> = new Set([
  'claimed',
  'recovered',
  'released',
  'failed',
  'orphaned',
  'dead',
  'requeued',
  'cancelled',
]);

async function fresh(): Promise<Handoff> {
  await using store = await openStore('memory:', { now: () => 0 });
  const budget = { max_attempts: MAX_ATTEMPTS, max_steps: 6, max_attempts_without_progress: 2, max_releases: 2 };
  const { id } = await store.dispatch(makeIntent({ taskKind: 'walk', inputs: null, outputSchema: true, budget }));
  return (await store.get(id))!;
}

type Step = { readonly type: Event['type']; readonly stale: boolean; readonly flag: boolean };

function eventOf({ type, stale, flag }: Step, handoff: Handoff): Event {
  const fence = stale ? handoff.fence - 1n : handoff.fence;
  const previous = handoff.seq > 1 ? { seq: handoff.seq - 1, hash: 'earlier' } : { seq: 0, hash: handoff.id };
  switch (type) {
    case 'claim':
    case 'recover':
      return { type, holder: WORKER, lease: LEASE };
    case 'checkpoint':
      return { type, fence, record: nextRecord(handoff), stored: null, problem: null };
    case 'quarantine':
      return { type, fence, seq: handoff.seq, why: 'walk', previous };
    case 'unreadable':
      return { type, seq: handoff.seq, why: 'walk', previous };
    case 'complete':
      return { type, fence, result: flag, resultHash: String(flag), problem: null };
    case 'release':
    case 'orphan':
    case 'park':
      return { type, fence, reason: 'walk' };
    case 'fail':
      return { type, fence, error: 'walk', retryable: flag };
    case 'requeue':
      return { type, grant: flag ? { attempts: 1, steps: 2, attempts_without_progress: 1, releases: 1 } : {} };
    default:
      return { type, fence } as Event;
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom<Event['type'][]>(
    'claim',
    'recover',
    'heartbeat',
    'checkpoint',
    'quarantine',
    'unreadable',
    'complete',
    'release',
    'fail',
    'orphan',
    'park',
    'requeue',
    'cancel',
  ),
  stale: fc.boolean(),
  flag: fc.boolean(),
});

const HOLDER_ONLY: ReadonlySet<string> = new Set([
  'heartbeat',
  'checkpoint',
  'quarantine',
  'complete',
  'release',
  'fail',
  'orphan',
]);

const PLENTY = { attempts: 100, steps: 1000, attempts_without_progress: 100, releases: 100 };

/** An event that leads out of each state that is not final. */
function wayOut({ state, fence }: Handoff): Event | null {
  switch (state) {
    case 'pending':
    case 'orphaned':
      return { type: 'cancel' };
    case 'claimed':
      return { type: 'orphan', fence, reason: 'walk' };
    case 'dead':
      return { type: 'requeue', grant: PLENTY };
    default:
      return null;
  }
}

/** The guarantees that one change broke, by name. */
function broken(before: Handoff, { type, stale }: Step, after: Handoff, emitted: readonly string[]): readonly string[] {
  const final = before.state === 'completed' || before.state === 'cancelled';
  const moves = emitted.some((it) => OWNERSHIP.has(it)) ? 1n : 0n;
  const steps = { checkpoint: 1, quarantine: -1, unreadable: final || before.seq === 0 ? 0 : -1 } as Record<
    string,
    number
  >;
  const rules: Readonly<Record<string, boolean>> = {
    'final states are final': !final || after === before,
    'only the holder writes': !HOLDER_ONLY.has(type) || (before.state === 'claimed' && !stale),
    'the fence rises with each change of ownership and with nothing else': after.fence - before.fence === moves,
    'attempts stay within budget and grants':
      after.attempts >= 0 && after.attempts <= MAX_ATTEMPTS + after.granted.attempts,
    'the chain grows by one and shrinks by one': after.seq - before.seq === (steps[type] ?? 0),
    'whoever is claimed has a holder, and nobody else': (after.holder !== null) === (after.state === 'claimed'),
    'a dead handoff comes back by requeue only':
      before.state !== 'dead' || after.state === 'dead' || type === 'requeue',
    'the intent never changes': after.intent === before.intent,
  };
  return Object.keys(rules).filter((name) => !rules[name]);
}

test('whatever happens in whatever order, the guarantees hold', async () => {
  const start = await fresh();
  const reached = new Set<State>();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let handoff = start;
      for (const it of steps) {
        const outcome = apply(handoff, eventOf(it, handoff), 1);
        if (outcome.kind !== 'changed') continue;
        const emitted = outcome.emits.map((event) => event.type);
        expect(broken(handoff, it, outcome.next, emitted)).toEqual([]);
        handoff = outcome.next;
        reached.add(handoff.state);
      }
      const exit = wayOut(handoff);
      expect(exit === null || apply(handoff, exit, 1).kind === 'changed').toBe(true);
    }),
    { numRuns: 2000, seed: 20260101 },
  );
  expect([...reached].toSorted()).toEqual(['cancelled', 'claimed', 'completed', 'dead', 'orphaned', 'pending']);
});

test('a refusal leaves the handoff that was given untouched', async () => {
  const handoff = await fresh();
  const copy = structuredClone(handoff);
  for (const type of HOLDER_ONLY) {
    const it: Step = { type: type as Event['type'], stale: false, flag: true };
    expect(apply(handoff, eventOf(it, handoff), 1).kind).toBe('refused');
  }
  expect(handoff).toEqual(copy);
});
