import type Database from 'better-sqlite3';
import { DhpError } from '../errors.ts';
import { wallLeft } from '../protocol/budget.ts';
import { canonical } from '../protocol/canonical.ts';
import type { Emitted } from '../protocol/events.ts';
import { readIntent, type SealedIntent } from '../protocol/ids.ts';
import type {
  CheckpointRecord,
  EventRecord,
  Grant,
  Handoff,
  Holder,
  LeaseRow,
  Lease,
  ListFilter,
  State,
  Usage,
} from '../types.ts';
import type { CheckpointRow, LeaderRow, Rows } from './rows.ts';

type Row = Record<string, unknown>;

const COLUMNS = [
  'state',
  'reason',
  'fence',
  'attempts',
  'releases',
  'attempts_without_progress',
  'granted',
  'seq',
  'head',
  'usage',
  'wall_left_ms',
  'holder',
  'lease',
  'counter',
  'result',
  'result_hash',
  'error',
  'created_at',
  'updated_at',
  'claimed_at',
];
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

function toRow(handoff: Handoff): Row {
  return {
    state: handoff.state,
    reason: handoff.reason,
    fence: handoff.fence,
    attempts: handoff.attempts,
    releases: handoff.releases,
    attempts_without_progress: handoff.attemptsWithoutProgress,
    granted: JSON.stringify(handoff.granted),
    seq: handoff.seq,
    head: handoff.head,
    usage: JSON.stringify(handoff.usage),
    wall_left_ms: wallLeft(handoff),
    holder: textOrNull(handoff.holder),
    lease: textOrNull(handoff.lease),
    counter: handoff.counter,
    // The hash, not the value, says whether there is a result: a result may be null.
    result: handoff.resultHash === null ? null : JSON.stringify(handoff.result),
    result_hash: handoff.resultHash,
    error: textOrNull(handoff.error),
    created_at: handoff.createdAt,
    updated_at: handoff.updatedAt,
    claimed_at: handoff.claimedAt,
  };
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

function toHandoff(row: Row): Handoff {
  const id = row['id'] as string;
  return {
    id,
    intent: readIntent(id, row['intent'] as string),
    state: row['state'] as State,
    reason: row['reason'] as string | null,
    fence: row['fence'] as bigint,
    attempts: Number(row['attempts']),
    releases: Number(row['releases']),
    attemptsWithoutProgress: Number(row['attempts_without_progress']),
    granted: parsed<Required<Grant>>(row, 'granted'),
    seq: Number(row['seq']),
    head: row['head'] as string,
    usage: parsed<Usage>(row, 'usage'),
    holder: parsed<Holder | null>(row, 'holder'),
    lease: parsed<Lease | null>(row, 'lease'),
    counter: Number(row['counter']),
    result: parsed(row, 'result'),
    resultHash: row['result_hash'] as string | null,
    error: parsed(row, 'error'),
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
    claimedAt: numberOrNull(row['claimed_at']),
  };
}

function toLease(row: Row): LeaseRow {
  return {
    id: row['id'] as string,
    fence: row['fence'] as bigint,
    counter: Number(row['counter']),
    lease: parsed<Lease>(row, 'lease'),
    holder: parsed<Holder>(row, 'holder'),
    claimedAt: Number(row['claimed_at']),
    wallLeftMs: numberOrNull(row['wall_left_ms']),
  };
}

function toCheckpoint(row: Row): CheckpointRow {
  return { seq: Number(row['seq']), hash: row['hash'] as string, text: row['body'] };
}

function toEvent(row: Row): EventRecord {
  return {
    n: Number(row['n']),
    id: row['id'] as string,
    type: row['type'] as string,
    fence: String(row['fence']),
    at: Number(row['at']),
    data: parsed(row, 'data'),
  };
}

function parsed<T>(row: Row, column: string): T {
  const text = row[column];
  try {
    return (text === null ? null : JSON.parse(text as string)) as T;
  } catch (error) {
    const { message } = error as Error;
    throw new DhpError('E_STORE', `the ${column} stored for ${String(row['id'])} is damaged: ${message}`, {}, error);
  }
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}
