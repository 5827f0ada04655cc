import type Database from 'better-sqlite3';
import { DhpError } from '../errors.ts';
import { canonical } from '../protocol/canonical.ts';
import type { Emitted } from '../protocol/events.ts';
import type { SealedIntent } from '../protocol/ids.ts';
import type { CheckpointRecord, EventRecord, Handoff, LeaseRow, ListFilter } from '../types.ts';
import type { CheckpointRow, LeaderRow, Rows } from './rows.ts';
import { COLUMNS, type Row, toCheckpoint, toEvent, toHandoff, toLease, toRow } from './sqlite-format.ts';

const SELECT = 'SELECT handoffs.*, intents.body AS intent FROM handoffs JOIN intents USING (id)';

/** The tables in SQLite. The connection reads integers as bigint, so a fence is exact beyond 2^53. */
export class SqliteRows implements Rows {
  readonly #db: Database.Database;
  readonly #prepared = new Map<string, Database.Statement>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  handoff(id: string): Handoff | null {
    const row = this.#get(`${SELECT} WHERE id = ?`, id);
    return row === undefined ? null : toHandoff(row);
  }

  insert(sealed: SealedIntent, handoff: Handoff): void {
    const { id, text, intent } = sealed;
    this.#run('INSERT INTO intents (id, task_kind, body) VALUES (?, ?, ?)', id, intent.task_kind, text);
    this.#run(
      `INSERT INTO handoffs (id, ${COLUMNS.join(', ')}) VALUES (@id, ${COLUMNS.map((it) => `@${it}`).join(', ')})`,
      { id, ...toRow(handoff) },
    );
  }

  replace(before: Handoff, after: Handoff): boolean {
    const changes = this.#run(
      `UPDATE handoffs SET ${COLUMNS.map((it) => `${it} = @${it}`).join(', ')}
       WHERE id = @id AND state = @before_state AND fence = @before_fence`,
      { id: before.id, before_state: before.state, before_fence: before.fence, ...toRow(after) },
    );
    return changes === 1;
  }

  list({ state, taskKind, limit, after }: ListFilter): readonly Handoff[] {
    const rows = this.#statement(
      `${SELECT}
       WHERE (@states IS NULL OR state IN (SELECT value FROM json_each(@states)))
         AND (@kind IS NULL OR intents.task_kind = @kind)
         AND (@after IS NULL OR (created_at, id) > (SELECT created_at, id FROM handoffs WHERE id = @after))
       ORDER BY created_at, id`,
    ).iterate({
      states: state === undefined ? null : JSON.stringify([state].flat()),
      kind: taskKind ?? null,
      after: after ?? null,
    });
    return firstOf(readable(rows as Iterable<Row>, toHandoff), limit);
  }

  leases(after: string, limit: number): readonly LeaseRow[] {
    const rows = this.#statement(
      `SELECT id, fence, counter, lease, holder, claimed_at, wall_left_ms FROM handoffs
       WHERE state = 'claimed' AND id > ? ORDER BY id`,
    ).iterate(after);
    return firstOf(readable(rows as Iterable<Row>, toLease), limit);
  }

  append(record: CheckpointRecord): void {
    const { id, seq, hash } = record;
    this.#run('INSERT INTO checkpoints (id, seq, hash, body) VALUES (?, ?, ?, ?)', id, seq, hash, canonical(record));
    for (const { sha256 } of record.blobs) this.#run('INSERT OR IGNORE INTO blob_names (sha256) VALUES (?)', sha256);
  }

  isNamed(sha256: string): boolean {
    return this.#get('SELECT 1 FROM blob_names WHERE sha256 = ?', sha256) !== undefined;
  }

  setAside(id: string, fromSeq: number): void {
    this.#run('UPDATE checkpoints SET quarantined = 1 WHERE id = ? AND seq >= ? AND quarantined = 0', id, fromSeq);
  }

  newest(id: string): CheckpointRow | null {
    const row = this.#get(
      'SELECT seq, hash, body FROM checkpoints WHERE id = ? AND quarantined = 0 ORDER BY seq DESC LIMIT 1',
      id,
    );
    return row === undefined ? null : toCheckpoint(row);
  }

  hashAt(id: string, seq: number): string | null {
    const row = this.#get('SELECT hash FROM checkpoints WHERE id = ? AND seq = ? AND quarantined = 0', id, seq);
    return (row?.['hash'] as string | undefined) ?? null;
  }

  chain(id: string, fromSeq: number): readonly CheckpointRow[] {
    const rows = this.#all(
      'SELECT seq, hash, body FROM checkpoints WHERE id = ? AND seq >= ? AND quarantined = 0 ORDER BY seq',
      id,
      fromSeq,
    );
    return rows.map(toCheckpoint);
  }

  emit(handoff: Handoff, { type, data }: Emitted, now: number): void {
    this.#run(
      'INSERT INTO events (id, type, fence, at, data) VALUES (?, ?, ?, ?, ?)',
      handoff.id,
      type,
      handoff.fence,
      now,
      JSON.stringify(data),
    );
  }

  events(afterN: number, limit: number): readonly EventRecord[] {
    return this.#all('SELECT * FROM events WHERE n > ? ORDER BY n LIMIT ?', afterN, limit).map(toEvent);
  }

  leader(): LeaderRow | null {
    const row = this.#get('SELECT candidate, term, expires_at FROM leader');
    if (row === undefined) return null;
    return {
      candidate: row['candidate'] as string,
      term: Number(row['term']),
      expiresAt: Number(row['expires_at']),
    };
  }

  setLeader({ candidate, term, expiresAt }: LeaderRow): void {
    this.#run(
      `INSERT INTO leader (one, candidate, term, expires_at) VALUES (1, ?, ?, ?)
       ON CONFLICT (one) DO UPDATE SET candidate = excluded.candidate, term = excluded.term, expires_at = excluded.expires_at`,
      candidate,
      term,
      expiresAt,
    );
  }

  #statement(sql: string): Database.Statement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }

  #get(sql: string, ...values: unknown[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  #all(sql: string, ...values: unknown[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  #run(sql: string, ...values: unknown[]): number {
    return this.#statement(sql).run(...values).changes;
  }
}

/** Rows as far as they can be read. A damaged one hides no other and takes no place in a page: one that is not full is the last. */
function* readable<T>(rows: Iterable<Row>, read: (row: Row) => T): Generator<T> {
  for (const row of rows) {
    let value: T;
    try {
      value = read(row);
    } catch (error) {
      if (error instanceof DhpError) continue;
      throw error;
    }
    yield value;
  }
}

function firstOf<T>(values: Iterable<T>, limit = Number.POSITIVE_INFINITY): T[] {
  const first: T[] = [];
  for (const value of values) if (first.push(value) >= limit) break;
  return first;
}
