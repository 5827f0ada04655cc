import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JobSpec, runJob, submitJob } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { scratch } from './jobs.ts';
import { writeNpy } from './npy.ts';
import { randomFloats } from './numbers.ts';

export interface SampleJob {
  readonly folder: string;
  /** A store on disk in that folder. */
  readonly storeUrl: string;
  /** The bytes that an uninterrupted run writes. */
  readonly reference: Buffer;
  /** The number of its tiles. */
  readonly tiles: number;
  /** Into that store unless another is given. */
  submit(changes?: Partial<JobSpec>, store?: Store): Promise<string>;
  /** The output file; null when there is none. */
  output(): Buffer | null;
  /** Temporary files beside the output. */
  leftovers(): readonly string[];
}

const SPEC: JobSpec = {
  op: 'matmul',
  inputs: { a: 'a.npy', b: 'b.npy' },
  output: 'c.npy',
  attrs: { activation: 'relu' },
  tile: { rows: 20, cols: 40 },
};

/** A matmul job of three tiles, with what it should give. */
export async function sampleJob(): Promise<SampleJob> {
  const folder = await scratch();
  const storeUrl = join(folder, 'store');
  writeNpy(join(folder, 'a.npy'), randomFloats(60 * 50, 1), [60, 50]);
  writeNpy(join(folder, 'b.npy'), randomFloats(50 * 40, 2), [50, 40]);
  await using memory = await openStore('memory:');
  const { id, plan } = await submitJob(memory, { ...SPEC, output: 'reference.npy' }, { cwd: folder });
  await runJob(memory, id, { backend: 'naive' });
  return {
    folder,
    storeUrl,
    reference: readFileSync(join(folder, 'reference.npy')),
    tiles: plan.tiles,
    submit: async (changes = {}, given) => {
      await using own = given === undefined ? await openStore(storeUrl) : null;
      return (await submitJob((given ?? own)!, { ...SPEC, ...changes }, { cwd: folder })).id;
    },
    output: () => (readdirSync(folder).includes('c.npy') ? readFileSync(join(folder, 'c.npy')) : null),
    leftovers: () => readdirSync(folder).filter((name) => name.endsWith('.tmp')),
  };
}
