import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Handoff, openStore, type Store, Supervisor, thisProcess } from 'uhop/dhp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
// What a connection is set to can be asked of that connection only.
import { openFile } from '../../dist/lib/dhp/store/sqlite-file.js';
import {
  advance,
  claimedHandoff,
  eventCounts,
  LEASE,
  nextRecord,
  pendingHandoff,
  tempDir,
  tokenOf,
  WORKER,
} from '../support/handoffs.ts';
import { StoreChild } from '../support/store-child.ts';

let directory: Awaited<ReturnType<typeof tempDir>>;
let file: string;

beforeEach(async () => {
  directory = await tempDir();
  file = join(directory.path, 'dhp.sqlite');
});
afterEach(() => directory[Symbol.asyncDispose]());

/** Does what no store would do to the database. */
function vandalise(sql: string, ...values: unknown[]): void {
  const db = new Database(file);
  db.prepare(sql).run(...values);
  db.close();
}

describe('opening', () => {
  test('by path, by sqlite: url and by its own url is the same store', async () => {
    const path = join(directory.path, 'a b#c?d%20é');
    await using first = await openStore(path);
    const id = await pendingHandoff(first);
    await using second = await openStore(first.url!);
    await using third = await openStore(`sqlite:${encodeURIComponent(path)}`);
    expect([second.url, third.url]).toEqual([first.url, first.url]);
    expect((await second.get(id))?.id).toBe(id);
    expect((await third.get(id))?.id).toBe(id);
    expect(existsSync(join(path, 'dhp.sqlite'))).toBe(true);
  });

  test('memory: is a store of its own each time, without a url', async () => {
    await using one = await openStore('memory:');
    await using other = await openStore('memory:');
    await pendingHandoff(one);
    expect([one.url, await other.list()]).toEqual([null, []]);
  });

  test.each(['', 'postgres://localhost/x', 'https://example.org', 'memory:x', 'sqlite:', 'sqlite:100%'])(
    'what is no store is refused, saying what is there: %j',
    async (url) => {
      const attempt = openStore(url);
      await expect(attempt).rejects.toMatchObject({ code: 'E_ARGUMENT', message: expect.stringMatching(/memory:/) });
    },
  );

  test('a directory that cannot be made, and a file that is no database, are E_STORE', async () => {
    await (await openStore(directory.path)).close();
    await expect(openStore(join(file, 'below-a-file'))).rejects.toMatchObject({ code: 'E_STORE' });
    const { writeFile, mkdir } = await import('node:fs/promises');
    await mkdir(join(directory.path, 'other'));
    await writeFile(
      join(directory.path, 'other', 'dhp.sqlite'),
      'not a database at all, but long enough to be read'.repeat(99),
    );
    await expect(openStore(join(directory.path, 'other'))).rejects.toMatchObject({ code: 'E_STORE' });
  });

  test("somebody else's database is left alone", async () => {
    const db = new Database(file);
    db.exec('CREATE TABLE recipes (name TEXT)');
    db.close();
    await expect(openStore(directory.path)).rejects.toMatchObject({ code: 'E_STORE', message: /something else/ });
  });

  test('a newer schema is refused and not touched', async () => {
    await (await openStore(directory.path)).close();
    const db = new Database(file);
    const known = db.pragma('user_version', { simple: true }) as number;
    db.pragma(`user_version = ${known + 1}`);
    db.close();
    const attempt = openStore(directory.path);
    await expect(attempt).rejects.toMatchObject({ code: 'E_STORE_NEWER', details: { found: known + 1, known } });
    const after = new Database(file);
    expect(after.pragma('user_version', { simple: true })).toBe(known + 1);
    after.close();
  });

  test('a network file system is refused, unless it is allowed: then the url carries that on', async () => {
    const types = { NFS: 0x6969, CIFS: 0xff534d42, SMB2: 0xfe534d42 | 0, FUSE: 0x65735546, '9p': 0x01021997 };
    for (const [name, type] of Object.entries(types)) {
      const attempt = openStore(directory.path, { fsType: () => type });
      await expect(attempt).rejects.toMatchObject({ code: 'E_NETWORK_FS', details: { fileSystem: name } });
    }
    expect(existsSync(file)).toBe(false);
    await using allowed = await openStore(directory.path, { fsType: () => 0x6969, allowNetworkFs: true });
    await using again = await openStore(allowed.url!, { fsType: () => 0x6969 });
    expect(again.url).toBe(allowed.url);
    await using local = await openStore(directory.path, { fsType: () => 0xef53 });
    expect(local.url).not.toBe(allowed.url);
  });

  test('our connections commit for good, and their log has a limit', async () => {
    const db = await openFile(file, {});
    const pragma = (name: string): string => String(db.pragma(name, { simple: true }));
    expect(['synchronous', 'journal_mode', 'journal_size_limit', 'foreign_keys'].map(pragma)).toEqual([
      '2',
      'wal',
      String(64 * 1024 * 1024),
      '1',
    ]);
    db.close();
  });

  test('the log stays small however much is written through it, with other connections open', async () => {
    await using store = await openStore(directory.path);
    await using other = await openStore(directory.path);
    let handoff = await claimedHandoff(store);
    const state = 'x'.repeat(100_000);
    for (let n = 0; n < 200; n += 1) {
      handoff = await advance(store, handoff, { state });
      await other.list({ limit: 1 });
    }
    expect(statSync(file).size).toBeGreaterThan(15 * 1024 * 1024);
    expect(statSync(`${file}-wal`).size).toBeLessThan(6 * 1024 * 1024);
  });

  test('eight processes that make the same new store at once all succeed', async () => {
    const children = Array.from({ length: 8 }, () => new StoreChild(directory.path, 'open'));
    const lines = await Promise.all(children.map((it) => it.line()));
    expect(lines).toEqual(Array.from({ length: 8 }, () => ({ opened: 0 })));
    await Promise.all(children.map((it) => it.ended()));
    expect(children.map((it) => it.process.exitCode)).toEqual(Array.from({ length: 8 }, () => 0));
  });
});

describe('damage', () => {
  let store: Store;
  let handoff: Handoff;

  beforeEach(async () => {
    store = await openStore(directory.path);
    handoff = await claimedHandoff(store);
    for (const _ of [1, 2, 3]) handoff = await advance(store, handoff);
  });
  afterEach(() => store.close());

  const garble = (seq: number, expression: string): void =>
    vandalise(
      `UPDATE checkpoints SET body = ${expression} WHERE id = ? AND seq = ? AND quarantined = 0`,
      handoff.id,
      seq,
    );

  test.each([
    ['emptied', "''"],
    ['no JSON', "'{'"],
    ['binary', "x'00ff00ff'"],
    ['altered', `replace(body, '"done":3', '"done":4')`],
    ['another record', '(SELECT body FROM checkpoints WHERE seq = 2)'],
    ['JSON of no record', "'null'"],
  ])('the newest checkpoint %s: quarantined, told once, the one before serves', async (_, expression) => {
    garble(3, expression);
    for (const __ of [1, 2, 3]) expect((await store.lastCheckpoint(handoff.id))?.seq).toBe(2);
    expect((await store.checkpoints(handoff.id)).map((it) => it.seq)).toEqual([1, 2]);
    expect(await eventCounts(store, handoff.id)).toMatchObject({ quarantined: 1 });
    const now = (await store.get(handoff.id))!;
    expect(now.seq).toBe(2);
    await expect(advance(store, handoff)).rejects.toMatchObject({
      code: 'E_SEQUENCE',
      details: { seq: 2, head: now.head },
    });
    expect((await advance(store, now)).seq).toBe(3);
  });

  test('the newest checkpoint cut at every byte falls back to the one before', async () => {
    const whole = JSON.stringify(await store.lastCheckpoint(handoff.id)).length;
    for (let length = 0; length < whole; length += 1) {
      garble(3, `substr(body, 1, ${length})`);
      expect((await store.lastCheckpoint(handoff.id))?.seq).toBe(2);
      handoff = await advance(store, (await store.get(handoff.id))!);
    }
    expect(await eventCounts(store, handoff.id)).toMatchObject({ quarantined: whole });
  });

  test('all checkpoints damaged: work begins anew, nothing loops', async () => {
    for (const seq of [1, 2, 3]) garble(seq, "'{'");
    expect(await store.lastCheckpoint(handoff.id)).toBe(null);
    expect(await eventCounts(store, handoff.id)).toMatchObject({ quarantined: 3 });
    const now = (await store.get(handoff.id))!;
    expect([now.seq, now.head]).toEqual([0, handoff.id]);
  });

  test('who recovers is given the chain it can go on from', async () => {
    garble(3, "'{'");
    await store.orphan(tokenOf(handoff), 'expired');
    const recovered = await store.recover(handoff.id, WORKER, LEASE);
    expect(recovered.seq).toBe(2);
    expect((await advance(store, recovered)).seq).toBe(3);
  });

  test('a damaged link in the middle is an error that names it', async () => {
    garble(2, "'{'");
    expect((await store.lastCheckpoint(handoff.id))?.seq).toBe(3);
    const attempt = store.checkpoints(handoff.id);
    await expect(attempt).rejects.toMatchObject({ code: 'E_CHECKPOINT_CORRUPT', details: { id: handoff.id, seq: 2 } });
  });

  test('of a completed handoff: the checkpoint before serves, the handoff stays as it was', async () => {
    const done = await store.complete(tokenOf(handoff), 'fine');
    garble(3, "'{'");
    for (const _ of [1, 2]) expect((await store.lastCheckpoint(handoff.id))?.seq).toBe(2);
    expect(await store.get(handoff.id)).toEqual(done);
    expect(await eventCounts(store, handoff.id)).toMatchObject({ quarantined: 1 });
  });

  test('an altered intent is found out by its id, and hides neither the others nor their leases', async () => {
    const other = await claimedHandoff(store);
    vandalise("UPDATE intents SET body = replace(body, 'test', 'text') WHERE id = ?", handoff.id);
    await expect(store.get(handoff.id)).rejects.toMatchObject({ code: 'E_ID_MISMATCH', details: { id: handoff.id } });
    await expect(store.heartbeat(tokenOf(handoff))).rejects.toMatchObject({ code: 'E_ID_MISMATCH' });
    expect(await store.leases()).toHaveLength(2);
    expect((await store.list()).map(({ id }) => id)).toEqual([other.id]);
  });
});

test.each(['granted', 'usage', 'holder', 'lease', 'result', 'error'])(
  'a damaged %s hides no other handoff, and no other lease from the supervisor',
  async (column) => {
    await using store = await openStore(directory.path);
    const [broken, other] = [await claimedHandoff(store), await claimedHandoff(store)];
    vandalise(`UPDATE handoffs SET ${column} = '{' WHERE id = ?`, broken.id);
    await expect(store.get(broken.id)).rejects.toMatchObject({ code: 'E_STORE', message: /is damaged/ });
    expect((await store.list()).map(({ id }) => id)).toEqual([other.id]);
    expect((await store.leases()).map(({ id }) => id)).toContain(other.id);
    const { pid } = other.holder!;
    vandalise(
      `UPDATE handoffs SET holder = ? WHERE id = ?`,
      JSON.stringify(thisProcess('gone')).replace(`${pid}`, '4194305'),
      other.id,
    );
    await new Supervisor(store).sweepOnce();
    expect(await store.get(other.id)).toMatchObject({ state: 'orphaned', reason: 'worker-died' });
  },
);

test('damaged handoffs take no place in a page: a page that is not full is the last', async () => {
  let now = 0;
  await using store = await openStore(directory.path, { now: () => (now += 1) });
  const ids: string[] = [];
  for (let n = 0; n < 7; n += 1) ids.push(await pendingHandoff(store));
  const damaged = [ids[1]!, ids[2]!, ids[3]!, ids[6]!];
  for (const id of damaged) vandalise("UPDATE intents SET body = '{}' WHERE id = ?", id);
  const first = await store.list({ limit: 2 });
  expect(first.map(({ id }) => id)).toEqual([ids[0], ids[4]]);
  expect((await store.list({ limit: 2, after: ids[4]! })).map(({ id }) => id)).toEqual([ids[5]]);
});

describe('a fence', () => {
  test('is exact past 2^53 and compared as an integer', async () => {
    await using store = await openStore(directory.path);
    const id = await pendingHandoff(store);
    const high = 2n ** 53n + 1n;
    vandalise('UPDATE handoffs SET fence = ? WHERE id = ?', high, id);
    const handoff = await store.claim(id, WORKER, LEASE);
    expect(handoff.fence).toBe(2n ** 53n + 2n);
    for (const near of [high, high + 2n]) {
      // As doubles these are equal to the fence, or to each other.
      await expect(store.heartbeat({ id, fence: near })).rejects.toMatchObject({ code: 'E_LEASE_LOST' });
    }
    const after = await advance(store, handoff);
    expect((await store.lastCheckpoint(id))?.fence).toBe('9007199254740994');
    expect((await store.leases())[0]?.fence).toBe(after.fence);
    expect((await store.events()).at(-1)?.fence).toBe('9007199254740994');
  });

  test('is not given twice, however a holder ended', async () => {
    await using store = await openStore(directory.path);
    const id = await pendingHandoff(store, { max_attempts: 10 });
    const fences: bigint[] = [];
    const ends = ['release', 'fail', 'orphan'] as const;
    for (const end of ends) {
      await using mine = await openStore(directory.path);
      const state = (await mine.get(id))?.state;
      const handoff = await (state === 'pending' ? mine.claim(id, WORKER, LEASE) : mine.recover(id, WORKER, LEASE));
      fences.push(handoff.fence);
      if (end === 'fail') await mine.fail(tokenOf(handoff), 'no', true);
      else await mine[end](tokenOf(handoff), 'over');
    }
    expect(fences).toEqual([1n, 3n, 5n]);
  });
});

test('a handoff found with its attempts used up is parked by the claim that would be one too many', async () => {
  await using store = await openStore(directory.path);
  const id = await pendingHandoff(store, { max_attempts: 2 });
  vandalise('UPDATE handoffs SET attempts = 2 WHERE id = ?', id);
  const attempt = store.claim(id, WORKER, LEASE);
  await expect(attempt).rejects.toMatchObject({
    code: 'E_BUDGET',
    details: { cap: 'max-attempts', used: 2, limit: 2 },
  });
  expect(await store.get(id)).toMatchObject({ state: 'dead', reason: 'max-attempts', fence: 1n, attempts: 2 });
  await expect(store.claim(id, WORKER, LEASE)).rejects.toMatchObject({ code: 'E_STATE' });
  expect(await eventCounts(store, id)).toEqual({ dispatched: 1, dead: 1 });
});

test('a repeated checkpoint survives the death of the store object that wrote it', async () => {
  const first = await openStore(directory.path);
  const handoff = await claimedHandoff(first);
  const record = nextRecord(handoff);
  await first.checkpoint(tokenOf(handoff), record);
  await first.close();
  await using second = await openStore(directory.path);
  expect((await second.checkpoint(tokenOf(handoff), record)).seq).toBe(1);
  expect(await second.checkpoints(handoff.id)).toEqual([record]);
});
