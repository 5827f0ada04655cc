import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { FileBlobs } from '../blobs/file.ts';
import { DhpError } from '../errors.ts';
import type { Store } from '../types.ts';
import { CoreStore } from './core.ts';
import { type FsTypeReader, refuseNetworkFs } from './network-fs.ts';
import { closedStore, type Driver, type Rows } from './rows.ts';
import { openFile, patiently } from './sqlite-file.ts';
import { SqliteRows } from './sqlite-rows.ts';

export interface SqliteOptions {
  /** The store's clock, in milliseconds; the wall clock by default. */
  readonly now?: () => number;
  /** Opens a directory on a network file system all the same. */
  readonly allowNetworkFs?: boolean;
  /** Reads a directory's file system type; `statfs` by default. */
  readonly fsType?: FsTypeReader;
  /** The database may not grow past this many bytes; a write that would is `E_STORE_FULL`. */
  readonly maxBytes?: number;
}

/** The embedded store: `<directory>/dhp.sqlite`, with blobs in `<directory>/blobs/`. `url` is how others open it. */
export async function sqliteStore(directory: string, url: string, options: SqliteOptions): Promise<Store> {
  makeDirectory(directory);
  if (options.allowNetworkFs !== true) refuseNetworkFs(directory, options.fsType);
  const db = await openFile(join(directory, 'dhp.sqlite'), options);
  return new CoreStore({
    driver: new SqliteDriver(db),
    blobs: new FileBlobs(join(directory, 'blobs')),
    url,
    now: options.now ?? Date.now,
  });
}

class SqliteDriver implements Driver {
  readonly #db: Database.Database;
  readonly #rows: SqliteRows;
  readonly #exclusively: Database.Transaction<(work: (rows: Rows) => unknown) => unknown>;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#rows = new SqliteRows(db);
    this.#exclusively = db.transaction((work) => work(this.#rows));
  }

  read<T>(work: (rows: Rows) => T): Promise<T> {
    return this.#patiently(() => work(this.#rows));
  }

  /** IMMEDIATE takes the write lock before the first read; upgrading later fails at once when another wrote in between. */
  write<T>(work: (rows: Rows) => T): Promise<T> {
    return this.#patiently(() => this.#exclusively.immediate(work) as T);
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #patiently<T>(attempt: () => T): Promise<T> {
    return patiently(() => {
      // It may have been closed while this waited for another writer.
      if (!this.#db.open) throw closedStore();
      return attempt();
    });
  }
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
  } catch (error) {
    const { message } = error as Error;
    throw new DhpError('E_STORE', `the store's directory cannot be made: ${message}`, { directory }, error);
  }
}
