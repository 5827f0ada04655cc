import { Command } from 'commander';
import { jobStatus } from '../../jobs/index.ts';
import { Failure } from '../failure.ts';
import { outputOf } from '../output.ts';
import { openExisting, resolveId, storeOption } from '../store.ts';
import { describeResult } from './events.ts';

const EXAMPLES = `
Examples:
  uhop job result h1_3f9c
  uhop job result h1_3f9c --json | jq -r .sha256`;

/** `uhop job result` */
export function define(): Command {
  return new Command('result')
    .description('The result of a completed job: output file, SHA-256, shape, the paths that computed it.')
    .argument('<id>', 'job id, or the beginning of one')
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(result);
}

async function result(id: string, options: { readonly store: string }, command: Command): Promise<void> {
  const output = outputOf(command);
  await using store = await openExisting(options.store);
  const job = await jobStatus(store, await resolveId(store, id));
  if (!job.result) {
    throw new Failure(
      'E_STATE',
      `the job is ${job.state}, with ${job.tiles.done} of ${job.tiles.total} tiles done`,
      '`uhop worker` works on it; `uhop job status` shows more',
    );
  }
  output.data(describeResult(job.result));
  output.document(job.result);
}
