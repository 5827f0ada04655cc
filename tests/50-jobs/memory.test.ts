import { closeSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { submitJob } from 'uhop';
import { openStore } from 'uhop/dhp';
import { outcomeOf, runWorker, scratch } from '../support/jobs.ts';
import { dictOf, npyBytes } from '../support/npy.ts';

const MiB = 1024 * 1024;

/** A file of zeros of this shape, without writing them. */
function sparse(path: string, shape: readonly number[]): void {
  const file = openSync(path, 'w');
  const header = npyBytes(dictOf('<f4', shape), new Uint8Array());
  writeSync(file, header);
  ftruncateSync(file, header.length + 4 * shape.reduce((product, extent) => product * extent, 1));
  closeSync(file);
}

describe('memory', () => {
  it('is bounded by tiles, not by matrices', async () => {
    const folder = await scratch();
    const store = join(folder, 'store');
    const rows = 256 * 1024;
    sparse(join(folder, 'a.npy'), [rows, 256]);
    sparse(join(folder, 'b.npy'), [256, 4]);
    await using opened = await openStore(store);
    const { id, plan } = await submitJob(
      opened,
      { op: 'matmul', inputs: { a: 'a.npy', b: 'b.npy' }, output: 'c.npy' },
      { cwd: folder, tileMemoryBytes: 16 * MiB },
    );
    expect(statSync(join(folder, 'a.npy')).size).toBeGreaterThan(256 * MiB);
    expect(plan.tiles).toBeGreaterThan(16);

    const { lines } = await runWorker({ store, id });
    expect(outcomeOf(lines)).toMatchObject({ outcome: 'completed' });
    const [peak] = lines.filter((line) => 'type' in line && line.type === 'peak') as { kilobytes: number }[];
    const idle = await runWorker({ store, id });
    const [floor] = idle.lines.filter((line) => 'type' in line && line.type === 'peak') as { kilobytes: number }[];
    // What the work took beyond a process that only looked the result up: tiles, chunks and uncollected garbage.
    expect((peak!.kilobytes - floor!.kilobytes) * 1024).toBeLessThan(96 * MiB);
  });
});
