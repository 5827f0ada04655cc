import { deepEqual, equal, fail } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DhpError, type DhpErrorCode } from '../errors.ts';
import { makeIntent } from '../protocol/ids.ts';
import { sealRecord } from '../protocol/record.ts';
import type { Budget, CheckpointRecord, Handoff, Holder, Intent, Json, Lease, Store, Token } from '../types.ts';

/** The clock a case's store lives on; it moves when the case moves it. */
export interface Clock {
  now(): number;
  advance(ms: number): void;
}

export interface ConformanceCase {
  readonly name: string;
  /** Throws when the store is wrong. `open` gives a store on `clock`; the runner closes it. */
  run(open: () => Promise<Store>, clock: Clock): Promise<void>;
}

export const LEASE: Lease = { ttlMs: 6000, heartbeatMs: 2000 };
export const RESULT: Json = { answer: 42 };

export function worker(workerId: string): Holder {
  return { workerId, boot: 'conformance', pid: process.pid, startTime: '1' };
}

/** An intent nobody dispatched before, so that a store which is not empty does no harm. */
export function freshIntent(budget: Partial<Budget> = {}, taskKind = 'conformance'): Intent {
  const outputSchema: Json = {
    type: 'object',
    properties: { answer: { type: 'integer' } },
    required: ['answer'],
    additionalProperties: false,
  };
  return makeIntent({ taskKind, inputs: { question: 'what?' }, outputSchema, budget, nonce: randomUUID() });
}

export async function dispatched(store: Store, budget?: Partial<Budget>, taskKind?: string): Promise<string> {
  return (await store.dispatch(freshIntent(budget, taskKind))).id;
}

export async function claimed(store: Store, budget?: Partial<Budget>, taskKind?: string): Promise<Handoff> {
  return store.claim(await dispatched(store, budget, taskKind), worker('first'), LEASE);
}

export async function recovered(store: Store, id: string, by = 'next'): Promise<Handoff> {
  return store.recover(id, worker(by), LEASE);
}

export function tokenOf(handoff: Handoff): Token {
  return { id: handoff.id, fence: handoff.fence };
}

/** The next link of a handoff's chain. */
export function nextRecord(handoff: Handoff, differing: Partial<CheckpointRecord> = {}): CheckpointRecord {
  return sealRecord({
    t: 'ckpt',
    v: 1,
    id: handoff.id,
    seq: handoff.seq + 1,
    fence: String(handoff.fence),
    attempt: handoff.attempts,
    worker: handoff.holder?.workerId ?? 'nobody',
    ts: '2026-01-01T00:00:00.000Z',
    state: { done: handoff.seq + 1 },
    blobs: [],
    usage: { steps: 1, cost: 0, wall_ms: 10 },
    prev: handoff.head,
    ...differing,
  });
}

export async function advanced(
  store: Store,
  handoff: Handoff,
  differing?: Partial<CheckpointRecord>,
): Promise<Handoff> {
  return store.checkpoint(tokenOf(handoff), nextRecord(handoff, differing));
}

export async function present(store: Store, id: string): Promise<Handoff> {
  return (await store.get(id)) ?? fail(`the store lost ${id}`);
}

/** Awaits a refusal and answers it. */
export async function refusal(code: DhpErrorCode, attempt: Promise<unknown>): Promise<DhpError> {
  const error = await attempt.then(
    (value) => fail(`expected ${code}, but it was done: ${String(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof DhpError)) throw error;
  equal(error.code, code, `expected ${code}, got ${error.code}: ${error.message}`);
  return error;
}

/** Runs `attempt` and checks that it left the handoff, its chain and its events as they were. */
export async function unchanged<T>(store: Store, id: string, attempt: () => Promise<T>): Promise<T> {
  const before = await everythingAbout(store, id);
  const outcome = await attempt();
  deepEqual(await everythingAbout(store, id), before);
  return outcome;
}

/** The types of what happened to a handoff, in order. */
export async function historyOf(store: Store, id: string): Promise<readonly string[]> {
  const types: string[] = [];
  let after = 0;
  for (;;) {
    const page = await store.events(after, 500);
    types.push(...page.filter((event) => event.id === id).map((event) => event.type));
    const last = page.at(-1);
    if (last === undefined) return types;
    after = last.n;
  }
}

async function everythingAbout(store: Store, id: string): Promise<unknown> {
  return [await store.get(id), await store.checkpoints(id), await historyOf(store, id)];
}
