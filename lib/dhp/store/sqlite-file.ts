import Database from 'better-sqlite3';
import { DhpError } from '../errors.ts';
import { MIGRATIONS } from './sql/index.ts';

const WAL_LIMIT_BYTES = 64 * 1024 * 1024;
const PATIENCE_MS = 60_000;

export interface FileOptions {
  /** The database may not grow past this; a write that would is `E_STORE_FULL`. */
  readonly maxBytes?: number | undefined;
}

/** Opens a database file for handoffs, new or not, and brings its schema up to date. Throws `E_STORE_NEWER`, `E_STORE`. */
export async function openFile(path: string, options: FileOptions): Promise<Database.Database> {
  return patiently(() => {
    // SQLite's own wait blocks this thread, so it is short; the long patience is `patiently`'s.
    const db = connect(path, 250);
    try {
      db.defaultSafeIntegers(true);
      db.pragma('journal_mode = WAL');
      // A commit that a power cut takes back would be a fence used twice.
      db.pragma('synchronous = FULL');
      db.pragma(`journal_size_limit = ${WAL_LIMIT_BYTES}`);
      db.pragma('foreign_keys = ON');
      db.pragma('trusted_schema = OFF');
      if (options.maxBytes !== undefined) limitSize(db, options.maxBytes);
      migrate(db, path);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** The version of SQLite that keeps the stores; `E_STORE` where it cannot be loaded. */
export function sqliteVersion(): string {
  const db = connect(':memory:', 0);
  const version = db.prepare('SELECT sqlite_version()').pluck().get();
  db.close();
  return String(version);
}

/** Where install scripts were forbidden, the driver is there and its compiled part is not. */
function connect(path: string, timeout: number): Database.Database {
  try {
    return new Database(path, { timeout });
  } catch (error) {
    const [reason = ''] = error instanceof Error ? error.message.split('\n') : [];
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_DLOPEN_FAILED' && !reason.startsWith('Could not locate the bindings file')) throw error;
    const message = `better-sqlite3, which keeps stores, cannot be loaded (${reason}): run \`npm rebuild better-sqlite3\``;
    throw new DhpError('E_STORE', message, {}, error);
  }
}

/** Runs `attempt` until no other writer is in its way. Its SQLite errors come out as `E_STORE_FULL` or `E_STORE`. */
export async function patiently<T>(attempt: () => T): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw storeError(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 20));
  }
}

function migrate(db: Database.Database, path: string): void {
  if (versionOf(db, path) === MIGRATIONS.length) return;
  db.transaction(() => {
    // Read again inside the transaction: a rival may have been first.
    const from = versionOf(db, path);
    for (const sql of MIGRATIONS.slice(from)) db.exec(sql);
    db.pragma(`user_version = ${MIGRATIONS.length}`);
  }).immediate();
}

function versionOf(db: Database.Database, path: string): number {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > MIGRATIONS.length) {
    throw new DhpError(
      'E_STORE_NEWER',
      `${path} has schema ${version}, this version of the package knows up to ${MIGRATIONS.length}: upgrade the package`,
      { found: version, known: MIGRATIONS.length },
    );
  }
  const tables = db.prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table'").pluck().get();
  if (version === 0 && Number(tables) > 0) {
    throw new DhpError(
      'E_STORE',
      `${path} is a database of something else: give an empty directory or an existing store`,
    );
  }
  return version;
}

function limitSize(db: Database.Database, maxBytes: number): void {
  const pageSize = Number(db.pragma('page_size', { simple: true }));
  db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}

function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

function storeError(error: unknown): unknown {
  if (error instanceof DhpError) return error;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  // The shared-memory file is grown by writing to it, so a full disk also shows there.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') {
    return new DhpError(
      'E_STORE_FULL',
      `no room in the store: ${message}; nothing was written, free some space`,
      {},
      error,
    );
  }
  if (isBusy(error)) {
    const waited = `the store was locked by others for ${PATIENCE_MS / 1000} s`;
    return new DhpError('E_STORE', `${waited}: ${message}`, { busy: true }, error);
  }
  return code === '' ? error : new DhpError('E_STORE', `the store failed: ${message} (${code})`, {}, error);
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}
