import { Command, Option } from 'commander';
import type { State } from '../../dhp/types.ts';
import type { JobStatus } from '../../jobs/index.ts';
import { outputOf } from '../output.ts';
import { everyStatus, openExisting, shortId, storeOption } from '../store.ts';
import { table } from '../table.ts';

const STATES: readonly State[] = ['pending', 'claimed', 'orphaned', 'completed', 'dead', 'cancelled'];

const EXAMPLES = `
Examples:
  uhop job list
  uhop job list --state orphaned --json`;

/** `uhop job list` */
export function define(): Command {
  return new Command('list')
    .description('The jobs of the store, oldest first. --json prints one job per line.')
    .addOption(new Option('--state <state>', 'only jobs in this state').choices(STATES))
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list(options: { readonly store: string; readonly state?: State }, command: Command): Promise<void> {
  const output = outputOf(command);
  await using store = await openExisting(options.store);
  const jobs: JobStatus[] = [];
  for await (const job of everyStatus(store, options.state ? { state: options.state } : {}, output)) {
    output.document(job);
    jobs.push(job);
  }
  if (jobs.length === 0) output.note('no jobs');
  else output.data(jobTable(jobs));
}

function jobTable(jobs: readonly JobStatus[]): string {
  return table(
    [{ title: 'JOB' }, { title: 'OP' }, { title: 'STATE' }, { title: 'TILES', align: 'right' }, { title: 'OUTPUT' }],
    jobs.map((job) => [
      shortId(job.id),
      job.op,
      job.state + (job.reason ? ` (${job.reason})` : ''),
      `${job.tiles.done}/${job.tiles.total}`,
      job.output,
    ]),
  );
}
