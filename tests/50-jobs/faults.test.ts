import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JobEvent, type JobSpec, jobStatus, runJob, submitJob } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { eventsOf, scratch, tilesOf } from '../support/jobs.ts';
import { writeNpy } from '../support/npy.ts';
import { randomFloats } from '../support/numbers.ts';

const TILES = 4;
const spec: JobSpec = {
  op: 'matmul',
  inputs: { a: 'a.npy', b: 'b.npy' },
  output: 'c.npy',
  tile: { rows: 10, cols: 40 },
};

let folder: string;
let store: Store;
let reference: Buffer;

beforeEach(async () => {
  folder = await scratch();
  store = await openStore(join(folder, 'store'));
  writeNpy(join(folder, 'a.npy'), randomFloats(40 * 30, 1), [40, 30]);
  writeNpy(join(folder, 'b.npy'), randomFloats(30 * 40, 2), [30, 40]);
  await run(await submit({ output: 'reference.npy' }));
  reference = readFileSync(join(folder, 'reference.npy'));
});

afterEach(() => store.close());

async function submit(changes: Partial<JobSpec> = {}): Promise<string> {
  return (await submitJob(store, { ...spec, ...changes }, { cwd: folder })).id;
}

interface Run {
  readonly outcome: Awaited<ReturnType<typeof runJob>>;
  readonly events: readonly JobEvent[];
}

async function run(id: string, onEvent: (event: JobEvent) => void = () => {}): Promise<Run> {
  const events: JobEvent[] = [];
  const outcome = await runJob(store, id, {
    backend: 'naive',
    onEvent: (event) => {
      events.push(event);
      onEvent(event);
    },
  });
  return { outcome, events };
}

/** Runs until so many tiles are checkpointed, then lets go. */
async function runSome(id: string, tiles: number): Promise<void> {
  const stop = new AbortController();
  const onEvent = (event: JobEvent): void => {
    if (event.type === 'tile' && event.done === tiles) stop.abort('enough');
  };
  const outcome = await runJob(store, id, { backend: 'naive', signal: stop.signal, onEvent });
  expect(outcome).toEqual({ outcome: 'released', id, reason: 'enough' });
}

function expectOutput(): void {
  expect(readFileSync(join(folder, 'c.npy')).equals(reference)).toBe(true);
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
}

const damage = (change: (path: string) => void) => (): void => change(join(folder, 'a.npy'));
const flip = (path: string, at: number): void => {
  const bytes = readFileSync(path);
  bytes[at] = bytes[at]! ^ 1;
  writeFileSync(path, bytes);
};

describe('an input that changed after submit', () => {
  it.each([
    ['in one bit of its data', damage((path) => flip(path, readFileSync(path).length - 1))],
    ['in its header', damage((path) => flip(path, 20))],
    ['in its length', damage((path) => truncateSync(path, 500))],
    ['into another array', damage((path) => writeNpy(path, randomFloats(40 * 30, 3), [40, 30]))],
  ])('%s is refused before any work, and no attempt helps', async (_, change) => {
    const id = await submit();
    change();
    const { outcome, events } = await run(id);
    expect(outcome).toMatchObject({ outcome: 'parked', reason: 'failed', error: { code: 'E_INPUT_CHANGED' } });
    expect(events.map(({ type }) => type)).toEqual(['parked']);
    expect(existsSync(join(folder, 'c.npy'))).toBe(false);
    expect(await jobStatus(store, id)).toMatchObject({
      state: 'dead',
      tiles: { done: 0 },
      error: { code: 'E_INPUT_CHANGED' },
    });
  });

  it('while the job runs is refused too: no tile of the new content is kept', async () => {
    const id = await submit();
    const { outcome, events } = await run(id, (event) => {
      if (event.type === 'tile' && event.index === 0) damage((path) => flip(path, readFileSync(path).length - 1))();
    });
    expect(outcome).toMatchObject({ outcome: 'parked', error: { code: 'E_INPUT_CHANGED' } });
    expect(tilesOf(events).length).toBeLessThan(TILES);
    damage((path) => flip(path, readFileSync(path).length - 1))();
    await store.requeue(id, { attempts: 1 });
    expect((await run(id)).outcome).toMatchObject({ outcome: 'completed' });
    expectOutput();
  });

  it('but only in its times is the same input', async () => {
    const id = await submit();
    const { outcome } = await run(id, (event) => {
      if (event.type === 'tile') damage((path) => utimesSync(path, new Date(0), new Date(event.index)))();
    });
    expect(outcome).toMatchObject({ outcome: 'completed' });
    expectOutput();
  });

  it('and is gone may come back', async () => {
    const id = await submit();
    renameSync(join(folder, 'a.npy'), join(folder, 'away.npy'));
    expect((await run(id)).outcome).toMatchObject({ outcome: 'failed', error: { code: 'E_INPUT' } });
    renameSync(join(folder, 'away.npy'), join(folder, 'a.npy'));
    expect((await run(id)).outcome).toMatchObject({ outcome: 'completed' });
    expectOutput();
  });
});

describe('an output that cannot be written', () => {
  it.each([
    ['its folder is missing', { output: 'none/c.npy' }, /ENOENT/],
    ['its folder is a file', { output: 'a.npy/c.npy' }, /not a directory|ENOTDIR/],
    ['a folder is there', { output: 'store' }, /something other than a file is there/],
    ['it is an input', { output: './b.npy' }, /it is the input .*b\.npy/],
  ])('because %s is refused at submit', async (_, changes, message) => {
    const before = readFileSync(join(folder, 'b.npy'));
    await expect(submit(changes)).rejects.toMatchObject({ code: 'E_OUTPUT', message: expect.stringMatching(message) });
    expect(readFileSync(join(folder, 'b.npy'))).toEqual(before);
  });

  it('because its folder is closed is refused at submit', async ({ skip }) => {
    skip(process.getuid?.() === 0, 'root may write into any folder');
    mkdirSync(join(folder, 'closed'));
    chmodSync(join(folder, 'closed'), 0o500);
    await expect(submit({ output: 'closed/c.npy' })).rejects.toMatchObject({ code: 'E_OUTPUT' });
  });

  it('because its folder went away fails that attempt and keeps every tile', async () => {
    mkdirSync(join(folder, 'out'));
    const id = await submit({ output: 'out/c.npy' });
    rmdirSync(join(folder, 'out'));
    const { outcome, events } = await run(id);
    expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'E_OUTPUT' } });
    expect(tilesOf(events)).toHaveLength(TILES);
    expect(await jobStatus(store, id)).toMatchObject({ state: 'orphaned', tiles: { done: TILES } });

    mkdirSync(join(folder, 'out'));
    const again = await run(id);
    expect(again.outcome).toMatchObject({ outcome: 'completed' });
    expect(tilesOf(again.events)).toEqual([]);
    expect(readFileSync(join(folder, 'out/c.npy')).equals(reference)).toBe(true);
  });

  it('leaves what was at its path as it was', async () => {
    writeFileSync(join(folder, 'c.npy'), 'precious');
    const id = await submit();
    damage((path) => truncateSync(path, 500))();
    expect((await run(id)).outcome).toMatchObject({ outcome: 'parked' });
    expect(readFileSync(join(folder, 'c.npy'), 'utf8')).toBe('precious');
  });
});

describe('a damaged tile blob', () => {
  /** The blob file of the checkpoint with this number. */
  async function blobFile(id: string, seq: number): Promise<string> {
    const [record] = await store.checkpoints(id, seq);
    const { sha256 } = record!.blobs[0]!;
    const found = readdirSync(join(folder, 'store'), { recursive: true, encoding: 'utf8' });
    return join(folder, 'store', found.find((name) => name.endsWith(sha256))!);
  }

  const damages: readonly (readonly [string, (path: string) => void])[] = [
    ['empty', (path) => truncateSync(path, 0)],
    ['cut after 1 byte', (path) => truncateSync(path, 1)],
    ['cut in the middle', (path) => truncateSync(path, 801)],
    ['cut by 1 byte', (path) => truncateSync(path, 1599)],
    ['wrong in one bit', (path) => flip(path, 1000)],
    ['gone', (path) => rmSync(path)],
  ];

  it.each(damages)('that is the newest and %s is computed again, once, and told of once', async (_, change) => {
    const id = await submit();
    await runSome(id, 3);
    change(await blobFile(id, 3));
    const { outcome, events } = await run(id);
    expect(outcome).toMatchObject({ outcome: 'completed' });
    expect(eventsOf(events, 'tile-damaged')).toMatchObject([{ index: 2 }]);
    expect(eventsOf(events, 'started')).toMatchObject([{ reused: 2 }]);
    expect(tilesOf(events)).toEqual([2, 3]);
    const quarantined = (await store.events()).filter(({ type }) => type === 'quarantined');
    expect(quarantined).toHaveLength(1);
    expectOutput();
  });

  it.each(damages)('that is an older one and %s never reaches the output', async (_, change) => {
    const id = await submit();
    await runSome(id, 3);
    change(await blobFile(id, 1));
    const { outcome, events } = await run(id);
    expect(outcome).toMatchObject({ outcome: 'completed' });
    expect(eventsOf(events, 'tile-damaged')).toMatchObject([{ index: 0 }]);
    expect(tilesOf(events).toSorted()).toEqual([0, 3]);
    expectOutput();
  });
});

describe('a disk that damages whatever is written', () => {
  it('fails the attempt at the second damage of one tile instead of going round', async () => {
    const id = await submit();
    const first = createHash('sha256')
      .update(reference.subarray(128, 128 + 1600))
      .digest('hex');
    const { outcome, events } = await run(id, (event) => {
      if (event.type !== 'assembling') return;
      const blob = readdirSync(join(folder, 'store'), { recursive: true, encoding: 'utf8' }).find((name) =>
        name.endsWith(first),
      );
      flip(join(folder, 'store', blob!), 0);
    });
    expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'E_BLOB' } });
    expect(tilesOf(events)).toEqual([0, 1, 2, 3, 0]);
    expect(existsSync(join(folder, 'c.npy'))).toBe(false);
  });
});

describe('a job that is cancelled while it runs', () => {
  it('is lost to its worker, and no output appears', async () => {
    const id = await submit();
    const cancelled: Promise<unknown>[] = [];
    const { outcome } = await run(id, (event) => {
      if (event.type === 'tile' && event.index === 0) cancelled.push(store.cancel(id));
    });
    await Promise.all(cancelled);
    expect(outcome).toEqual({ outcome: 'lost', id, state: 'cancelled' });
    expect(existsSync(join(folder, 'c.npy'))).toBe(false);
  });
});
