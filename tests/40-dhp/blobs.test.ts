import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type BlobStore, collectBlobs, openStore, type Store } from 'uhop/dhp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { advance, claimedHandoff, tempDir, tokenOf } from '../support/handoffs.ts';

const HOUR = 3600 * 1000;

let directory: Awaited<ReturnType<typeof tempDir>>;
let store: Store;
let blobs: BlobStore;

beforeEach(async () => {
  directory = await tempDir();
  store = await openStore(directory.path);
  blobs = store.blobs;
});
afterEach(async () => {
  await store.close();
  await directory[Symbol.asyncDispose]();
});

const root = (...names: string[]): string => join(directory.path, 'blobs', ...names);
const pathOf = (sha256: string): string => root(sha256.slice(0, 2), sha256);

async function makeOld(path: string): Promise<void> {
  const then = new Date(Date.now() - 2 * HOUR);
  await utimes(path, then, then);
}

const nobodys = async (): Promise<boolean> => false;

test('a blob is the file its hash names, and its directory holds nothing else', async () => {
  const { sha256 } = await blobs.put(Buffer.from('hello'));
  expect(sha256).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824');
  expect(await readFile(pathOf(sha256), 'utf8')).toBe('hello');
  expect(await readdir(root('tmp'))).toEqual([]);
});

test.each([
  ['truncated', (path: string) => truncate(path, 3)],
  ['emptied', (path: string) => truncate(path, 0)],
  ['altered at its length', (path: string) => writeFile(path, 'jello')],
])('a blob %s is never served: E_BLOB_CORRUPT, set aside, then missing', async (_, damage) => {
  const { sha256 } = await blobs.put(Buffer.from('hello'));
  await damage(pathOf(sha256));
  await expect(blobs.get(sha256)).rejects.toMatchObject({ code: 'E_BLOB_CORRUPT' });
  expect(await readdir(root('quarantine'))).toHaveLength(1);
  expect(await blobs.has(sha256)).toBe(false);
  await expect(blobs.get(sha256)).rejects.toMatchObject({ code: 'E_BLOB_MISSING' });
});

test('a blob cut off at any byte is not served', async () => {
  const bytes = Buffer.from('a blob of a few dozen bytes, cut off everywhere');
  for (let length = 0; length < bytes.length; length += 1) {
    const { sha256 } = await blobs.put(bytes);
    await truncate(pathOf(sha256), length);
    await expect(blobs.get(sha256), `${length} bytes`).rejects.toMatchObject({ code: 'E_BLOB_CORRUPT' });
  }
  expect(await readdir(root('quarantine'))).toHaveLength(bytes.length);
});

test('putting it again replaces a damaged blob and keeps a good one', async () => {
  const { sha256 } = await blobs.put(Buffer.from('hello'));
  const { ino } = await stat(pathOf(sha256));
  await blobs.put(Buffer.from('hello'));
  expect((await stat(pathOf(sha256))).ino).toBe(ino);
  await truncate(pathOf(sha256), 3);
  await blobs.put(Buffer.from('hello'));
  expect(Buffer.from(await blobs.get(sha256)).toString()).toBe('hello');
});

test('what is got is the bytes alone, at the start of their buffer', async () => {
  const { sha256 } = await blobs.put(new Uint8Array(Float64Array.of(1.5, 2.5).buffer));
  const back = await blobs.get(sha256);
  expect(back.constructor).toBe(Uint8Array);
  expect([...new Float64Array(back.buffer, back.byteOffset, 2)]).toEqual([1.5, 2.5]);
});

test('a view of a larger buffer is stored as the view', async () => {
  const whole = Buffer.from('-hello-');
  const { sha256, bytes } = await blobs.put(whole.subarray(1, 6));
  expect([bytes, Buffer.from(await blobs.get(sha256)).toString()]).toEqual([5, 'hello']);
});

test('collecting removes what is old and unnamed, also what a dead writer left', async () => {
  const [named, unnamed, young] = await Promise.all(
    ['named', 'unnamed', 'young'].map((it) => blobs.put(Buffer.from(it))),
  );
  await makeOld(pathOf(named!.sha256));
  await makeOld(pathOf(unnamed!.sha256));
  for (const name of ['old', 'new']) await writeFile(root('tmp', name), 'half a blo');
  await makeOld(root('tmp', 'old'));
  expect(await blobs.collect(async (sha256) => sha256 === named!.sha256, HOUR)).toBe(1);
  expect(await Promise.all([named, unnamed, young].map((it) => blobs.has(it!.sha256)))).toEqual([true, false, true]);
  expect(await readdir(root('tmp'))).toEqual(['new']);
});

test('collecting leaves alone what is no blob', async () => {
  const { sha256 } = await blobs.put(Buffer.from('hello'));
  await mkdir(root('notes'));
  for (const path of [root('README'), root('notes', sha256), root(sha256.slice(0, 2), 'note')]) {
    await writeFile(path, 'mine');
    await makeOld(path);
  }
  expect(await blobs.collect(nobodys, HOUR)).toBe(0);
  expect([root('README'), root('notes', sha256), root(sha256.slice(0, 2), 'note')].every(existsSync)).toBe(true);
});

test('a blob put again while it is being collected stays', async () => {
  const { sha256 } = await blobs.put(Buffer.from('hello'));
  await makeOld(pathOf(sha256));
  const putMeanwhile = async (): Promise<boolean> => {
    await blobs.put(Buffer.from('hello'));
    return false;
  };
  expect(await blobs.collect(putMeanwhile, HOUR)).toBe(0);
  expect(Buffer.from(await blobs.get(sha256)).toString()).toBe('hello');
});

test('a blob asked for while it is being collected stays: somebody is about to name it', async () => {
  const { sha256 } = await blobs.put(Buffer.from('hello'));
  await makeOld(pathOf(sha256));
  const askMeanwhile = async (): Promise<boolean> => !(await blobs.has(sha256));
  expect(await blobs.collect(askMeanwhile, HOUR)).toBe(0);
  expect(await blobs.has(sha256)).toBe(true);
});

test('two collections at once agree', async () => {
  const stored = await Promise.all(Array.from({ length: 20 }, (_, n) => blobs.put(Buffer.from(`blob ${n}`))));
  for (const { sha256 } of stored) await makeOld(pathOf(sha256));
  await using other = await openStore(directory.path);
  const removed = await Promise.all([blobs.collect(nobodys, HOUR), other.blobs.collect(nobodys, HOUR)]);
  expect(removed[0]! + removed[1]!).toBe(20);
});

test('the blobs that checkpoints name are kept, of however many handoffs, and the others go', async () => {
  const named: string[] = [];
  for (let n = 0; n < 101; n += 1) {
    const blob = await blobs.put(Buffer.from(`tile ${n}`));
    await advance(store, await claimedHandoff(store), { blobs: [{ name: 'tile', ...blob }] });
    named.push(blob.sha256);
  }
  const { sha256: orphan } = await blobs.put(Buffer.from('never named'));
  await Promise.all([...named, orphan].map((it) => makeOld(pathOf(it))));
  expect(await collectBlobs(store, HOUR)).toBe(1);
  expect(existsSync(pathOf(orphan))).toBe(false);
  expect(named.every((it) => existsSync(pathOf(it)))).toBe(true);
});

test('the blobs of checkpoints that are damaged, set aside or of an altered handoff are kept', async () => {
  let handoff = await claimedHandoff(store);
  const named: string[] = [];
  for (const seq of [1, 2, 3]) {
    const blob = await blobs.put(Buffer.from(`tile ${seq}`));
    handoff = await advance(store, handoff, { blobs: [{ name: 'tile', ...blob }] });
    named.push(blob.sha256);
  }
  const { sha256: orphan } = await blobs.put(Buffer.from('never named'));
  await Promise.all([...named, orphan].map((it) => makeOld(pathOf(it))));
  await store.quarantine(tokenOf(handoff), 3, 'looks odd');
  const db = new Database(join(directory.path, 'dhp.sqlite'));
  db.exec("UPDATE checkpoints SET body = '{' WHERE seq = 2");
  db.exec("UPDATE intents SET body = replace(body, 'test', 'text')");
  db.close();
  expect(await collectBlobs(store, HOUR)).toBe(1);
  expect([...named, orphan].map((it) => existsSync(pathOf(it)))).toEqual([true, true, true, false]);
});

test('a store without any blob has nothing to collect', async () => {
  expect(await blobs.collect(nobodys, 0)).toBe(0);
});
