import { DhpError } from '../errors.ts';
import type { Event, Link, Outcome } from '../protocol/events.ts';
import { apply } from '../protocol/machine.ts';
import { readRecord } from '../protocol/record.ts';
import type { CheckpointRecord, Handoff } from '../types.ts';
import type { Rows } from './rows.ts';

type Changed = Outcome & { readonly kind: 'changed' };

/** Writes what the state machine decided. */
export function persist(rows: Rows, before: Handoff, { next, emits }: Changed, now: number): void {
  if (!rows.replace(before, next)) {
    throw new DhpError('E_STORE', `${before.id} changed inside a transaction: the store does not isolate writers`);
  }
  for (const event of emits) rows.emit(next, event, now);
}

/** Sets unreadable records at the end of the chain aside, each once, until the newest one can be read. */
export function settle(
  rows: Rows,
  handoff: Handoff,
  now: number,
): { readonly handoff: Handoff; readonly record: CheckpointRecord | null } {
  let current = handoff;
  for (;;) {
    const row = rows.newest(handoff.id);
    if (row === null) return { handoff: current, record: null };
    const record = readRecord(handoff.id, row);
    if (typeof record !== 'string') return { handoff: current, record };
    const previous = linkBefore(rows, handoff.id, row.seq);
    const event: Event = { type: 'unreadable', seq: row.seq, why: record, previous };
    const outcome = apply(current, event, now) as Changed;
    rows.setAside(handoff.id, row.seq);
    persist(rows, current, outcome, now);
    current = outcome.next;
  }
}

export function linkBefore(rows: Rows, id: string, seq: number): Link {
  const hash = seq > 1 ? rows.hashAt(id, seq - 1) : null;
  return hash === null ? { seq: 0, hash: id } : { seq: seq - 1, hash };
}
