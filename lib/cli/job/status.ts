import { Command } from 'commander';
import { type JobStatus, jobStatus } from '../../jobs/index.ts';
import { duration, plural } from '../format.ts';
import { type Output, outputOf } from '../output.ts';
import { openExisting, resolveId, storeOption } from '../store.ts';

const EXAMPLES = `
Examples:
  uhop job status h1_3f9c
  uhop job status h1_3f9c --json | jq .tiles`;

/** `uhop job status` */
export function define(): Command {
  return new Command('status')
    .description('One job: its state and why, tiles done, who holds it, its result or error.')
    .argument('<id>', 'job id, or the beginning of one')
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(status);
}

async function status(id: string, options: { readonly store: string }, command: Command): Promise<void> {
  const output = outputOf(command);
  await using store = await openExisting(options.store);
  const found = await jobStatus(store, await resolveId(store, id));
  output.data(describe(found, output));
  output.document(found);
}

function describe(job: JobStatus, output: Output): string {
  const { done, total } = job.tiles;
  const left = job.rate && done < total ? `, ${duration((total - done) / job.rate)} left` : '';
  const rows: readonly (readonly [string, string | null])[] = [
    ['job', job.id],
    ['op', job.op],
    ['state', job.state + (job.reason ? ` (${job.reason})` : '')],
    ['holder', job.holder && `${job.holder.workerId}, pid ${job.holder.pid}`],
    ['tiles', `${done} of ${total} done${left}`],
    ['attempts', `${job.attempts}, released ${plural(job.releases, 'time')}`],
    ['output', job.output],
    ['sha256', job.result?.sha256 ?? null],
    ['error', job.error && `${job.error.message} [${job.error.code}]`],
  ];
  return rows
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${output.style('dim', name.padEnd(8))}  ${value}`)
    .join('\n');
}
