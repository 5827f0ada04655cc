/**
 * The life of a handoff, as a pure function: `apply(handoff, event, now)` says what becomes of it. Stores persist what it
 * decides and decide nothing themselves.
 *
 * pending    Dispatched, never owned. `claim` gives it to a holder, `park` and `cancel` end it.
 *
 * claimed    One holder owns it, by (id, fence). Only a write that presents the present fence counts; any other gets
 *            `LeaseLost` with the state and fence of now. `heartbeat` raises the counter, and nothing else shows life.
 *            `checkpoint` appends the next link of the chain and adds up usage; if that crosses a cap the link is kept and
 *            the handoff parked. `quarantine` takes links off its end again, from one that the holder found unusable. `complete`
 *            ends it. The holder gives it up by `release` (an interruption is no failure: the attempt is refunded, the
 *            release counted) or `fail`; it is taken away by `orphan`, on the observed fence.
 *
 * orphaned   Owned before, by nobody now; checkpoints stay. `recover` gives it to a holder. Its reason says why: the
 *            release's own, `failed`, `expired`, `worker-died`, `requeued`.
 *
 * dead       A dead letter, kept whole with its reason and never claimable. A handoff gets here by a cap, by a failure that
 *            is not retryable, or by `park`. A `fail` or `orphan` that ends the last allowed attempt leads here at
 *            once and keeps its own reason, so that a handoff that kills its workers is claimed exactly max_attempts times.
 *            `requeue` with a grant makes it orphaned again, if the grant is enough for one more attempt.
 *
 * completed, cancelled    Final: every write is refused, except the repeat of the very `complete` that was accepted.
 *
 * The fence rises with every change of ownership: claim, recover, release, fail, orphan, park, requeue, cancel. Attempts
 * count when a claim begins, because a killed worker reports nothing. "Not acknowledged" is not "not done": the same
 * checkpoint (seq and hash) or the same complete (fence and result hash) again changes nothing and succeeds.
 */
import { DhpError, LeaseLost } from '../errors.ts';
import type { Grant, Handoff, Intent, State } from '../types.ts';
import { addGrant, addUsage, type Cap, crossed, exhausted, NO_GRANT } from './budget.ts';
import type { Beginning, Emitted, Event, EventOf, Link, Outcome } from './events.ts';

/** A handoff as dispatched at `now`. */
export function pending(id: string, intent: Intent, now: number): Handoff {
  return {
    id,
    intent,
    state: 'pending',
    reason: null,
    fence: 0n,
    attempts: 0,
    releases: 0,
    attemptsWithoutProgress: 0,
    granted: NO_GRANT,
    seq: 0,
    head: id,
    usage: { steps: 0, cost: 0, wall_ms: 0 },
    holder: null,
    lease: null,
    counter: 0,
    result: null,
    resultHash: null,
    error: null,
    createdAt: now,
    updatedAt: now,
    claimedAt: null,
  };
}

/** What becomes of `handoff` when `event` reaches it at `now`, milliseconds of the store's clock. */
export function apply(handoff: Handoff, event: Event, now: number): Outcome {
  const outcome = decide(handoff, event, now);
  if (outcome.kind !== 'changed' || outcome.next === handoff) return outcome;
  return { ...outcome, next: { ...outcome.next, updatedAt: now } };
}

function decide(handoff: Handoff, event: Event, now: number): Outcome {
  switch (event.type) {
    case 'claim':
      return begin(handoff, event, 'pending', now);
    case 'recover':
      return begin(handoff, event, 'orphaned', now);
    case 'heartbeat':
      return asHolder(handoff, event, () => changed({ ...handoff, counter: handoff.counter + 1 }));
    case 'checkpoint':
      return asHolder(handoff, event, () => append(handoff, event));
    case 'quarantine':
      return asHolder(handoff, event, () => setAside(handoff, event));
    case 'unreadable':
      return changed(isFinal(handoff.state) ? handoff : rewound(handoff, event.previous), quarantined(event));
    case 'complete':
      return complete(handoff, event);
    case 'release':
      return asHolder(handoff, event, () => release(handoff, event.reason));
    case 'fail':
      return asHolder(handoff, event, () => fail(handoff, event));
    case 'orphan':
      return asHolder(handoff, event, () =>
        loseAttempt(handoff, event.reason, { type: 'orphaned', data: { reason: event.reason } }),
      );
    case 'park':
      return park(handoff, event);
    case 'requeue':
      return requeue(handoff, event.grant);
    case 'cancel':
      return isOpen(handoff.state)
        ? changed(disown(handoff, 'cancelled', 'cancelled'), { type: 'cancelled', data: {} })
        : wrongState(handoff, 'cancelled', 'pending, claimed or orphaned');
  }
}

function begin(handoff: Handoff, event: Beginning, from: State, now: number): Outcome {
  const verb = event.type === 'claim' ? 'claimed' : 'recovered';
  if (handoff.state !== from) return wrongState(handoff, verb, from);
  const cap = exhausted(handoff);
  if (cap !== undefined) {
    const parked = dead(handoff, cap.reason, cap);
    return { ...parked, error: overBudget(handoff, `cannot be ${verb} again`, cap) };
  }
  const next: Handoff = {
    ...handoff,
    state: 'claimed',
    reason: null,
    fence: handoff.fence + 1n,
    attempts: handoff.attempts + 1,
    attemptsWithoutProgress: handoff.attemptsWithoutProgress + 1,
    holder: event.holder,
    lease: event.lease,
    counter: 0,
    claimedAt: now,
  };
  return changed(next, { type: verb, data: { worker: event.holder.workerId, attempt: next.attempts } });
}

function append(handoff: Handoff, { record, stored, problem }: EventOf<'checkpoint'>): Outcome {
  if (stored === record.hash) return { kind: 'repeated' };
  if (record.seq !== handoff.seq + 1 || record.prev !== handoff.head) {
    return refused(
      'E_SEQUENCE',
      `checkpoint ${record.seq} after ${record.prev} does not continue ${handoff.id}, whose newest is ${handoff.seq} with hash ${handoff.head}`,
      { seq: handoff.seq, head: handoff.head },
    );
  }
  if (problem !== null) return { kind: 'refused', error: problem };
  const next: Handoff = {
    ...handoff,
    seq: record.seq,
    head: record.hash,
    usage: addUsage(handoff.usage, record.usage),
    attemptsWithoutProgress: 0,
  };
  const kept: Emitted = { type: 'checkpoint', data: { seq: record.seq, attempt: record.attempt } };
  const cap = crossed(next);
  return cap === undefined ? changed(next, kept) : dead(next, cap.reason, cap, kept);
}

function setAside(handoff: Handoff, event: EventOf<'quarantine'>): Outcome {
  if (event.seq < 1 || event.seq > handoff.seq) {
    const message = `${handoff.id} has no checkpoint ${event.seq} to quarantine: its newest is ${handoff.seq}`;
    return refused('E_SEQUENCE', message, { seq: handoff.seq, head: handoff.head });
  }
  return changed(rewound(handoff, event.previous), quarantined(event));
}

function complete(handoff: Handoff, event: EventOf<'complete'>): Outcome {
  const same = handoff.fence === event.fence && handoff.resultHash === event.resultHash;
  if (handoff.state === 'completed' && same) return { kind: 'repeated' };
  return asHolder(handoff, event, () => {
    if (event.problem !== null) return { kind: 'refused', error: event.problem };
    const { result, resultHash } = event;
    const next: Handoff = { ...vacated(handoff), state: 'completed', reason: null, error: null, result, resultHash };
    return changed(next, { type: 'completed', data: { result_hash: resultHash } });
  });
}

function release(handoff: Handoff, reason: string): Outcome {
  const next: Handoff = {
    ...handoff,
    attempts: handoff.attempts - 1,
    attemptsWithoutProgress: Math.max(0, handoff.attemptsWithoutProgress - 1),
    releases: handoff.releases + 1,
  };
  const released: Emitted = { type: 'released', data: { reason } };
  const cap = crossed(next);
  return cap === undefined
    ? changed(disown(next, 'orphaned', reason), released)
    : dead(next, cap.reason, cap, released);
}

function fail(handoff: Handoff, { error, retryable }: EventOf<'fail'>): Outcome {
  const failed: Emitted = { type: 'failed', data: { error, retryable } };
  const next: Handoff = { ...handoff, error };
  return retryable ? loseAttempt(next, 'failed', failed) : dead(next, 'failed', null, failed);
}

function loseAttempt(handoff: Handoff, reason: string, cause: Emitted): Outcome {
  const cap = exhausted(handoff);
  return cap === undefined ? changed(disown(handoff, 'orphaned', reason), cause) : dead(handoff, reason, cap, cause);
}

function park(handoff: Handoff, event: EventOf<'park'>): Outcome {
  if (!isOpen(handoff.state)) return wrongState(handoff, 'parked', 'pending, claimed or orphaned');
  if (handoff.fence !== event.fence) return lost(handoff, event);
  return dead(handoff, event.reason, null);
}

function requeue(handoff: Handoff, grant: Grant): Outcome {
  if (handoff.state !== 'dead') return wrongState(handoff, 'requeued', 'dead');
  const granted: Handoff = { ...handoff, granted: addGrant(handoff.granted, grant) };
  const cap = exhausted(granted) ?? crossed(granted);
  if (cap !== undefined) {
    return { kind: 'refused', error: overBudget(handoff, 'needs a larger grant to be requeued', cap) };
  }
  return changed(disown(granted, 'orphaned', 'requeued'), { type: 'requeued', data: { grant: { ...grant } } });
}

function asHolder(handoff: Handoff, event: Event & { readonly fence: bigint }, act: () => Outcome): Outcome {
  return handoff.state === 'claimed' && handoff.fence === event.fence ? act() : lost(handoff, event);
}

function lost(handoff: Handoff, event: Event & { readonly fence: bigint }): Outcome {
  const message = `${event.type} refused: ${handoff.id} is ${describe(handoff)} at fence ${handoff.fence}, the token presents fence ${event.fence}`;
  return { kind: 'refused', error: new LeaseLost(message, presentOf(handoff)) };
}

function wrongState(handoff: Handoff, verb: string, wanted: string): Outcome {
  const message = `${handoff.id} cannot be ${verb}: it is ${describe(handoff)}, not ${wanted}`;
  return refused('E_STATE', message, presentOf(handoff));
}

function overBudget(handoff: Handoff, sentence: string, cap: Cap): DhpError {
  const message = `${handoff.id} ${sentence}: ${cap.reason} allows ${cap.limit}, ${cap.used} are used`;
  return new DhpError('E_BUDGET', message, { cap: cap.reason, used: cap.used, limit: cap.limit });
}

function refused(code: 'E_SEQUENCE' | 'E_STATE', message: string, details: Record<string, unknown>): Outcome {
  return { kind: 'refused', error: new DhpError(code, message, details) };
}

function changed(next: Handoff, ...emits: readonly Emitted[]): Outcome & { readonly kind: 'changed' } {
  return { kind: 'changed', next, emits };
}

function dead(
  handoff: Handoff,
  reason: string,
  cap: Cap | null,
  ...before: readonly Emitted[]
): ReturnType<typeof changed> {
  const data = cap === null ? { reason } : { reason, cap: cap.reason, used: cap.used, limit: cap.limit };
  return changed(disown(handoff, 'dead', reason), ...before, { type: 'dead', data });
}

function disown(handoff: Handoff, state: State, reason: string): Handoff {
  return { ...vacated(handoff), state, reason, fence: handoff.fence + 1n };
}

function vacated(handoff: Handoff): Handoff {
  return { ...handoff, holder: null, lease: null, counter: 0, claimedAt: null };
}

function rewound(handoff: Handoff, { seq, hash }: Link): Handoff {
  return { ...handoff, seq, head: hash };
}

function quarantined({ seq, why }: EventOf<'quarantine' | 'unreadable'>): Emitted {
  return { type: 'quarantined', data: { seq, why } };
}

function isOpen(state: State): boolean {
  return state === 'pending' || state === 'claimed' || state === 'orphaned';
}

function isFinal(state: State): boolean {
  return state === 'completed' || state === 'cancelled';
}

function describe(handoff: Handoff): string {
  return handoff.reason === null ? handoff.state : `${handoff.state} (${handoff.reason})`;
}

function presentOf(handoff: Handoff): Record<string, unknown> {
  return {
    id: handoff.id,
    state: handoff.state,
    reason: handoff.reason,
    fence: String(handoff.fence),
    worker: handoff.holder?.workerId ?? null,
    ...(handoff.state === 'completed' ? { result: handoff.result } : {}),
  };
}
