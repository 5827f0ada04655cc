import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DhpError, type Handoff, openStore, type Store } from 'uhop/dhp';
import { expect, test } from 'vitest';
import { advance, claimedHandoff, eventCounts, tempDir, tokenOf } from '../support/handoffs.ts';
import { mountedDisk } from '../support/small-disk.ts';

const BULK = { bulk: 'x'.repeat(50_000) };

/** Checkpoints until the store says it is full, and answers the handoff as it was acknowledged last. */
async function untilFull(store: Store, handoff: Handoff): Promise<Handoff> {
  const next = await advance(store, handoff, { state: BULK }).catch((error: DhpError) => error);
  if (!(next instanceof DhpError)) return untilFull(store, next);
  if (next.code !== 'E_STORE_FULL') throw next;
  return handoff;
}

test('a database at its size limit: E_STORE_FULL, nothing half-written, and on it goes with more room', async () => {
  await using directory = await tempDir();
  await using tight = await openStore(directory.path, { maxBytes: 1024 * 1024 });
  const last = await untilFull(tight, await claimedHandoff(tight));
  expect(last.seq).toBeGreaterThan(5);
  for (const _ of [1, 2]) {
    await expect(advance(tight, last, { state: BULK })).rejects.toMatchObject({ code: 'E_STORE_FULL' });
    expect(await tight.get(last.id)).toEqual(last);
  }
  expect(await eventCounts(tight, last.id)).toMatchObject({ checkpoint: last.seq });
  await using roomy = await openStore(directory.path);
  expect((await roomy.checkpoints(last.id)).map((it) => it.seq)).toEqual(
    Array.from({ length: last.seq }, (_, index) => index + 1),
  );
  const next = await advance(roomy, last, { state: BULK });
  expect((await roomy.complete(tokenOf(next), 'done')).state).toBe('completed');
});

test('a full disk: E_STORE_FULL, the handoff stays claimed, and on it goes once there is room', async (context) => {
  await using disk = await mountedDisk(4 * 1024 * 1024, context);
  await using store = await openStore(disk.path);
  const handoff = await advance(store, await claimedHandoff(store));
  disk.fill(200_000);
  const last = await untilFull(store, handoff);
  expect(await store.get(last.id)).toEqual(last);
  expect((await store.lastCheckpoint(last.id))?.seq).toBe(last.seq);
  await disk.makeRoom();
  const next = await advance(store, last, { state: BULK });
  expect((await store.complete(tokenOf(next), 'done')).state).toBe('completed');
});

test('a full disk under the blobs: E_STORE_FULL, no remains, and the same put succeeds later', async (context) => {
  await using disk = await mountedDisk(2 * 1024 * 1024, context);
  await using store = await openStore(disk.path);
  const bytes = Buffer.alloc(300_000, 7);
  disk.fill(100_000);
  await expect(store.blobs.put(bytes)).rejects.toMatchObject({ code: 'E_STORE_FULL' });
  expect(readdirSync(join(disk.path, 'blobs', 'tmp'))).toEqual([]);
  await disk.makeRoom();
  const { sha256 } = await store.blobs.put(bytes);
  expect(await store.blobs.get(sha256)).toEqual(new Uint8Array(bytes));
});
