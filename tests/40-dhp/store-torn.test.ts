import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DhpError, openStore, type Store } from 'uhop/dhp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { advance, pendingHandoff, tempDir } from '../support/handoffs.ts';
import { StoreChild } from '../support/store-child.ts';

const FILES = ['dhp.sqlite', 'dhp.sqlite-wal', 'dhp.sqlite-shm'];
const RECORDS = 8;
/** A WAL file is a header and then frames: a page and the header of the frame. */
const WAL_HEADER = 32;
const FRAME = 4096 + 24;

let directory: Awaited<ReturnType<typeof tempDir>>;
let id: string;
let acknowledged: number;

/** A store whose only writer was killed with SIGKILL, as it lies on the disk. */
beforeAll(async () => {
  directory = await tempDir();
  const path = join(directory.path, 'crashed');
  const store = await openStore(path);
  id = await pendingHandoff(store);
  await using child = new StoreChild(path, 'write', id);
  do {
    acknowledged = (await child.line<{ acknowledged: number }>())!.acknowledged;
  } while (acknowledged < RECORDS);
  child.kill('SIGKILL');
  await child.ended();
  // Before this store is closed: closing it would move the log into the database.
  for (const name of FILES) copyFileSync(join(path, name), join(directory.path, name));
  await store.close();
});
afterAll(() => directory[Symbol.asyncDispose]());

const original = (name: string): string => join(directory.path, name);

/** What is left of the store after `change` was done to its files; null when it says that it is damaged. */
async function leftAfter(change: (path: (name: string) => string) => void): Promise<number | null> {
  const path = original('copy');
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path);
  for (const name of FILES) copyFileSync(original(name), join(path, name));
  change((name) => join(path, name));
  try {
    await using store = await openStore(path);
    return await consistentLength(store);
  } catch (error) {
    if (error instanceof DhpError && error.code === 'E_STORE') return null;
    throw error;
  }
}

/** The length of the chain, which has no gap, ends where the row says, and can be gone on with. */
async function consistentLength(store: Store): Promise<number> {
  const handoff = await store.get(id);
  if (handoff === null) return 0;
  const records = await store.checkpoints(id);
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
  expect(records.map(({ prev }) => prev)).toEqual([id, ...records.map(({ hash }) => hash)].slice(0, records.length));
  expect([handoff.seq, handoff.head]).toEqual([records.length, records.at(-1)?.hash ?? id]);
  const next = handoff.state === 'claimed' ? (await advance(store, handoff)).seq : records.length + 1;
  expect(next).toBe(records.length + 1);
  return records.length;
}

/** Byte positions in a file of `bytes` bytes: about each boundary that `unit` makes after `first`, and between them. */
function* cuts(bytes: number, first: number, unit: number): Generator<number> {
  for (let at = 0; at < bytes; at += at === 0 ? first : unit) {
    for (const near of [at - 1, at, at + unit / 2]) if (near >= 0 && near < bytes) yield near;
  }
}

describe('the log of a killed writer', () => {
  test('whole holds every checkpoint that was acknowledged', async () => {
    expect(await leftAfter(() => {})).toBeGreaterThanOrEqual(acknowledged);
  });

  test.each([
    ['cut off', (path: string, at: number) => truncateSync(path, at)],
    [
      'zeros',
      (path: string, at: number) => {
        const bytes = readFileSync(path);
        writeFileSync(path, bytes.fill(0, at));
      },
    ],
    [
      'wrong in a bit',
      (path: string, at: number) => {
        const bytes = readFileSync(path);
        bytes[at] = bytes[at]! ^ 1;
        writeFileSync(path, bytes);
      },
    ],
  ])('%s from any byte on leaves a consistent beginning, and no less the later the byte', async (_, tear) => {
    const { length } = readFileSync(original('dhp.sqlite-wal'));
    const atFrames: number[] = [];
    for (const at of cuts(length, WAL_HEADER, FRAME)) {
      const left = await leftAfter((path) => tear(path('dhp.sqlite-wal'), at));
      expect(left, `at byte ${at}`).not.toBeNull();
      if (at % FRAME === WAL_HEADER) atFrames.push(left!);
    }
    expect(atFrames).toEqual(atFrames.toSorted((a, b) => a - b));
    expect(atFrames.at(-1)).toBeGreaterThan(RECORDS / 2);
  });
});

test('a database cut off at any byte says so at once, or holds a consistent beginning', async () => {
  const path = original('settled');
  mkdirSync(path);
  for (const name of FILES) copyFileSync(original(name), join(path, name));
  await (await openStore(path)).close();
  const whole = readFileSync(join(path, 'dhp.sqlite'));
  const lengths = new Set<number | null>();
  for (const at of cuts(whole.length, 100, 4096)) {
    const left = await leftAfter((file) => {
      for (const name of FILES) rmSync(file(name));
      writeFileSync(file('dhp.sqlite'), whole.subarray(0, at));
    });
    lengths.add(left);
    expect(left ?? 0).toBeLessThanOrEqual(acknowledged + 1);
  }
  expect(lengths).toContain(null);
});
