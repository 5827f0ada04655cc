import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Budget,
  type CheckpointRecord,
  type Handoff,
  type Holder,
  type Lease,
  makeIntent,
  type Store,
  sealRecord,
  type Token,
} from 'uhop/dhp';

export const LEASE: Lease = { ttlMs: 6000, heartbeatMs: 2000 };
export const WORKER: Holder = { workerId: 'test', boot: 'test', pid: process.pid, startTime: '1' };

/** A directory of its own, removed with it. */
export async function tempDir(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'uhop-dhp-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

let made = 0;

/** Dispatches a handoff with any result and claims it. */
export async function claimedHandoff(store: Store, budget: Partial<Budget> = {}): Promise<Handoff> {
  return store.claim(await pendingHandoff(store, budget), WORKER, LEASE);
}

export async function pendingHandoff(store: Store, budget: Partial<Budget> = {}): Promise<string> {
  made += 1;
  const nonce = `${process.pid} ${made}`;
  return (await store.dispatch(makeIntent({ taskKind: 'test', inputs: null, outputSchema: true, budget, nonce }))).id;
}

export function tokenOf({ id, fence }: Handoff): Token {
  return { id, fence };
}

export function nextRecord(handoff: Handoff, differing: Partial<CheckpointRecord> = {}): CheckpointRecord {
  return sealRecord({
    t: 'ckpt',
    v: 1,
    id: handoff.id,
    seq: handoff.seq + 1,
    fence: String(handoff.fence),
    attempt: handoff.attempts,
    worker: 'test',
    ts: '2026-01-01T00:00:00.000Z',
    state: { done: handoff.seq + 1 },
    blobs: [],
    usage: { steps: 1, cost: 0, wall_ms: 1 },
    prev: handoff.head,
    ...differing,
  });
}

export function advance(store: Store, handoff: Handoff, differing?: Partial<CheckpointRecord>): Promise<Handoff> {
  return store.checkpoint(tokenOf(handoff), nextRecord(handoff, differing));
}

/** How often each type of event happened to a handoff. */
export async function eventCounts(store: Store, id: string): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const event of await store.events(0, 1_000_000)) {
    if (event.id === id) counts[event.type] = (counts[event.type] ?? 0) + 1;
  }
  return counts;
}
