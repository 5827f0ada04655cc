import { MemoryBlobs } from '../blobs/memory.ts';
import { wallLeft } from '../protocol/budget.ts';
import { canonical } from '../protocol/canonical.ts';
import type { Emitted } from '../protocol/events.ts';
import type { SealedIntent } from '../protocol/ids.ts';
import type { CheckpointRecord, EventRecord, Handoff, LeaseRow, ListFilter, Store } from '../types.ts';
import { CoreStore } from './core.ts';
import type { CheckpointRow, Driver, LeaderRow, Rows } from './rows.ts';

/** The reference store: everything in this process's memory, and gone with it. */
export function memoryStore(now: () => number): Store {
  return new CoreStore({ driver: new MemoryDriver(), blobs: new MemoryBlobs(now), url: null, now });
}

class MemoryDriver implements Driver {
  readonly #rows = new MemoryRows();

  async read<T>(work: (rows: Rows) => T): Promise<T> {
    return work(this.#rows);
  }

  async write<T>(work: (rows: Rows) => T): Promise<T> {
    return work(this.#rows);
  }

  async close(): Promise<void> {}
}

/** Handoffs are copied on their way in and out, so that nobody changes the store by changing what it gave them. */
class MemoryRows implements Rows {
  readonly #handoffs = new Map<string, Handoff>();
  readonly #chains = new Map<string, (CheckpointRow & { readonly text: string })[]>();
  readonly #quarantined: (CheckpointRow & { readonly id: string })[] = [];
  readonly #named = new Set<string>();
  readonly #events: EventRecord[] = [];
  #leader: LeaderRow | null = null;

  handoff(id: string): Handoff | null {
    return structuredClone(this.#handoffs.get(id) ?? null);
  }

  insert({ id }: SealedIntent, handoff: Handoff): void {
    this.#handoffs.set(id, structuredClone(handoff));
    this.#chains.set(id, []);
  }

  replace(before: Handoff, after: Handoff): boolean {
    const present = this.#handoffs.get(before.id);
    if (present?.state !== before.state || present.fence !== before.fence) return false;
    this.#handoffs.set(after.id, structuredClone(after));
    return true;
  }

  list({ state, taskKind, limit, after }: ListFilter): readonly Handoff[] {
    const states = state === undefined ? null : [state].flat();
    const cursor = after === undefined ? undefined : this.#handoffs.get(after);
    const page = [...this.#handoffs.values()]
      .filter((it) => states === null || states.includes(it.state))
      .filter((it) => taskKind === undefined || it.intent.task_kind === taskKind)
      .filter((it) => cursor === undefined || byAge(cursor, it) < 0)
      .toSorted(byAge)
      .slice(0, limit);
    return structuredClone(page);
  }

  leases(after: string, limit: number): readonly LeaseRow[] {
    const rows = [...this.#handoffs.values()].filter((it) => it.id > after).flatMap(leaseRow);
    return structuredClone(rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit));
  }

  append(record: CheckpointRecord): void {
    this.#chain(record.id).push({ seq: record.seq, hash: record.hash, text: canonical(record) });
    for (const { sha256 } of record.blobs) this.#named.add(sha256);
  }

  isNamed(sha256: string): boolean {
    return this.#named.has(sha256);
  }

  setAside(id: string, fromSeq: number): void {
    const chain = this.#chain(id);
    const index = chain.findIndex((row) => row.seq === fromSeq);
    this.#quarantined.push(...chain.splice(index).map((row) => ({ ...row, id })));
  }

  newest(id: string): CheckpointRow | null {
    return this.#chain(id).at(-1) ?? null;
  }

  hashAt(id: string, seq: number): string | null {
    return this.#chain(id).find((row) => row.seq === seq)?.hash ?? null;
  }

  chain(id: string, fromSeq: number): readonly CheckpointRow[] {
    return this.#chain(id).filter((row) => row.seq >= fromSeq);
  }

  emit(handoff: Handoff, { type, data }: Emitted, now: number): void {
    const n = this.#events.length + 1;
    this.#events.push({ n, id: handoff.id, type, fence: String(handoff.fence), at: now, data });
  }

  events(afterN: number, limit: number): readonly EventRecord[] {
    return structuredClone(this.#events.slice(afterN, afterN + limit));
  }

  leader(): LeaderRow | null {
    return this.#leader;
  }

  setLeader(leader: LeaderRow): void {
    this.#leader = leader;
  }

  #chain(id: string): (CheckpointRow & { readonly text: string })[] {
    return this.#chains.get(id) ?? [];
  }
}

function byAge(a: Handoff, b: Handoff): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : Number(a.id > b.id));
}

function leaseRow(handoff: Handoff): readonly LeaseRow[] {
  const { id, fence, counter, lease, holder, claimedAt } = handoff;
  if (lease === null || holder === null || claimedAt === null) return [];
  return [{ id, fence, counter, lease, holder, claimedAt, wallLeftMs: wallLeft(handoff) }];
}
