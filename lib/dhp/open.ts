import { resolve } from 'node:path';
import { DhpError } from './errors.ts';
import { memoryStore } from './store/memory.ts';
import { type SqliteOptions, sqliteStore } from './store/sqlite.ts';
import type { Store } from './types.ts';

export type OpenOptions = SqliteOptions;

const ALLOW_NETWORK_FS = '?allow-network-fs';

/**
 * Opens the store at `url`: a directory's path, the same as `sqlite:<directory>` (percent-encoded, as a store's own `url`
 * is), for a SQLite store with its blobs in that directory; or `memory:` for one that lives and dies with this process.
 * Throws `E_ARGUMENT` for anything else, `E_NETWORK_FS`, `E_STORE_NEWER`, `E_STORE`.
 */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  if (typeof url !== 'string' || url === '') throw unknownStore(url);
  if (url === 'memory:') return memoryStore(options.now ?? Date.now);
  const allowed = url.startsWith('sqlite:') && url.endsWith(ALLOW_NETWORK_FS);
  const allowNetworkFs = allowed || options.allowNetworkFs === true;
  const directory = resolve(directoryOf(allowed ? url.slice(0, -ALLOW_NETWORK_FS.length) : url));
  // What is needed to open it again travels in the url: a heartbeat thread gets nothing else.
  const self = `sqlite:${encodeURI(directory).replaceAll(/[?#]/g, encodeURIComponent)}`;
  return sqliteStore(directory, allowNetworkFs ? self + ALLOW_NETWORK_FS : self, { ...options, allowNetworkFs });
}

function directoryOf(url: string): string {
  const scheme = /^([a-z][a-z0-9+.-]+):(.*)$/is.exec(url);
  if (scheme === null) return url;
  const [, name, rest] = scheme;
  if (name !== 'sqlite' || rest === undefined || rest === '') throw unknownStore(url);
  try {
    return decodeURIComponent(rest);
  } catch {
    throw unknownStore(url);
  }
}

function unknownStore(url: unknown): DhpError {
  return new DhpError(
    'E_ARGUMENT',
    `${JSON.stringify(url)} names no store: there are a directory's path, sqlite:<directory> (percent-encoded) and memory:`,
  );
}
