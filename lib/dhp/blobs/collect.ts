import type { Store } from '../types.ts';

const DAY_MS = 24 * 3600 * 1000;
const PAGE = 100;

/**
 * Removes the blobs that no checkpoint names and that nobody put or asked for within `olderThanMs`, which must be longer
 * than any holder takes from putting a blob to naming it; answers how many. A chain that cannot be read removes nothing.
 */
export async function collectBlobs(store: Store, olderThanMs: number = DAY_MS): Promise<number> {
  const named = await namedBlobs(store);
  return store.blobs.collect(async (sha256) => named.has(sha256), olderThanMs);
}

async function namedBlobs(store: Store): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  let page = await store.list({ limit: PAGE });
  for (;;) {
    for (const { id } of page) {
      const records = await store.checkpoints(id);
      for (const { sha256 } of records.flatMap((record) => record.blobs)) named.add(sha256);
    }
    const last = page.at(-1);
    if (last === undefined) return named;
    page = await store.list({ limit: PAGE, after: last.id });
  }
}
