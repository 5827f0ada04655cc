import { readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { type JobEvent, runJob, workLoop } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { faulty } from '../support/faulty.ts';
import { type SampleJob, sampleJob } from '../support/sample-job.ts';

let job: SampleJob;
let id: string;
let output: string;

beforeEach(async () => {
  job = await sampleJob();
  id = await job.submit();
  output = join(job.folder, 'c.npy');
  await using store = await openStore(job.storeUrl);
  await runJob(store, id, { backend: 'naive' });
  expect(job.output()).toEqual(job.reference);
});

async function again(): Promise<{ readonly types: readonly string[]; readonly outcome: string }> {
  await using store = await openStore(job.storeUrl);
  const types: string[] = [];
  const before = await store.get(id);
  const onEvent = ({ type }: JobEvent): void => void types.push(type);
  try {
    return { types, outcome: (await runJob(store, id, { backend: 'naive', onEvent })).outcome };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return { types, outcome: `${code} ${message}` };
  } finally {
    expect(await store.get(id)).toEqual(before);
    expect(job.leftovers()).toEqual([]);
  }
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = bytes[at]! ^ 1;
  writeFileSync(path, bytes);
}

function blobs(): readonly string[] {
  const files = readdirSync(job.storeUrl, { recursive: true, encoding: 'utf8' });
  return files.filter((name) => /[0-9a-f]{64}$/.test(name)).map((name) => join(job.storeUrl, name));
}

describe('a completed job run again', () => {
  it('answers without a tile computed or a byte written while its output is there', async () => {
    expect(await again()).toEqual({ types: ['completed'], outcome: 'completed' });
  });

  it.each<[string, () => void]>([
    ['gone', () => rmSync(output)],
    ['empty', () => truncateSync(output, 0)],
    ['cut by a byte', () => truncateSync(output, job.reference.length - 1)],
    ['longer', () => writeFileSync(output, Buffer.concat([job.reference, Buffer.alloc(1)]))],
    ['wrong in a bit', () => flip(output, job.reference.length - 1)],
    ['something else', () => writeFileSync(output, 'no .npy file')],
  ])('writes its output again from the stored tiles when it is %s', async (_, change) => {
    change();
    // Nothing but the store is needed.
    for (const name of ['a.npy', 'b.npy']) rmSync(join(job.folder, name));
    expect(await again()).toEqual({ types: ['assembling', 'completed'], outcome: 'completed' });
    expect(job.output()).toEqual(job.reference);
  });

  it.each<[string, () => void, RegExp]>([
    [
      'a tile is gone',
      () => rmSync(blobs()[1]!),
      /^E_OUTPUT .*c\.npy is gone or changed since, and the store no longer/,
    ],
    ['a tile is damaged', () => flip(blobs()[1]!, 7), /^E_OUTPUT .*the store no longer holds all of its tiles/],
    [
      'a checkpoint is damaged',
      () => {
        const db = new Database(join(job.storeUrl, 'dhp.sqlite'));
        db.prepare("UPDATE checkpoints SET body = '{' WHERE id = ? AND seq = 2").run(id);
        db.close();
      },
      /^E_OUTPUT .*the store no longer holds all of its tiles/,
    ],
  ])('says that its output is gone, and writes nothing, when %s', async (_, change, message) => {
    renameSync(output, join(job.folder, 'elsewhere.npy'));
    change();
    expect((await again()).outcome).toMatch(message);
    expect(job.output()).toBeNull();
  });

  it('whose output cannot be written again does not end a worker that saw it open a moment ago', async () => {
    await using store = await openStore(job.storeUrl);
    const open = (await store.list()).map((handoff) => ({ ...handoff, state: 'orphaned' as const }));
    const list: Store['list'] = async (filter) => (filter?.after === undefined ? open : []);
    rmSync(output);
    for (const blob of blobs()) rmSync(blob);
    const events: JobEvent[] = [];
    const onEvent = (event: JobEvent): void => void events.push(event);
    const summary = await workLoop(faulty(store, { list }), { backend: 'naive', until: 'idle', onEvent });
    expect(summary).toMatchObject({ completed: 0, lost: 0 });
    expect(events.at(-1)).toMatchObject({ type: 'failed', id, error: { code: 'E_OUTPUT' } });
  });
});
