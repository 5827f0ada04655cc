import { existsSync } from 'node:fs';
import { Option } from 'commander';
import { everyHandoff } from '../dhp/handoff.ts';
import { openStore } from '../dhp/index.ts';
import type { Handoff, ListFilter, Store } from '../dhp/types.ts';
import { JobError, type JobStatus, jobStatus } from '../jobs/index.ts';
import { opOfKind } from '../jobs/job.ts';
import { UsageError } from './failure.ts';
import type { Output } from './output.ts';

/** `--store DIR`, `UHOP_STORE`, or `./.uhop`. */
export function storeOption(): Option {
  return new Option('--store <dir>', 'where the jobs are kept').env('UHOP_STORE').default('./.uhop');
}

/** Opens a store that must be there already: looking at jobs creates nothing. */
export async function openExisting(store: string): Promise<Store> {
  const isUrl = /^[a-z]+:/.test(store);
  if (!isUrl && !existsSync(store)) {
    throw new UsageError(
      `there is no store at ${store}`,
      'name it with --store DIR or UHOP_STORE; `job submit` makes one',
    );
  }
  return openStore(store);
}

const WHOLE_ID = /^h1_[0-9a-f]{64}$/;

/** The whole id for the beginning of one, as git does for commits. */
export async function resolveId(store: Store, beginning: string): Promise<string> {
  if (WHOLE_ID.test(beginning)) return beginning;
  const prefix = beginning.startsWith('h1_') ? beginning : `h1_${beginning}`;
  const matches: string[] = [];
  for await (const { id } of everyJob(store)) if (id.startsWith(prefix)) matches.push(id);
  if (matches.length === 1 && matches[0] !== undefined) return matches[0];
  const found = matches.length === 0 ? 'no job of this store begins' : `${matches.length} jobs of this store begin`;
  throw new UsageError(`${found} with ${beginning}`, '`uhop job list` shows them');
}

/** Where every kernel job of the store stands; one that this version cannot read is remarked on and hides no other. */
export async function* everyStatus(store: Store, filter: ListFilter, output: Output): AsyncGenerator<JobStatus> {
  for await (const { id, state } of everyJob(store, filter)) {
    try {
      yield await jobStatus(store, id);
    } catch (error) {
      if (!(error instanceof JobError)) throw error;
      const { code, message } = error;
      output.document({ id, state, error: { code, message } });
      output.note(`${shortId(id)}: ${message} [${code}]`);
    }
  }
}

/** Every kernel job of the store, oldest first; what else lives there is somebody else's. */
export async function* everyJob(store: Store, filter: ListFilter = {}): AsyncGenerator<Handoff> {
  for await (const handoff of everyHandoff(store, filter)) {
    if (opOfKind(handoff.intent.task_kind) !== null) yield handoff;
  }
}

/** Enough of an id to tell jobs apart and to type. */
export function shortId(id: string): string {
  return id.slice(0, 13);
}
