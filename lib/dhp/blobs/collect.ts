import type { Store } from '../types.ts';

const DAY_MS = 24 * 3600 * 1000;

/**
 * Removes the blobs that no checkpoint ever named and that nobody put or asked for within `olderThanMs`, which must be longer
 * than any holder takes from putting a blob to naming it; answers how many.
 */
export function collectBlobs(store: Store, olderThanMs: number = DAY_MS): Promise<number> {
  return store.blobs.collect((sha256) => store.isNamed(sha256), olderThanMs);
}
