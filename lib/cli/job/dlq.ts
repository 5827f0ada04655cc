import { Command } from 'commander';
import { plural } from '../format.ts';
import { outputOf } from '../output.ts';
import { everyStatus, openExisting, shortId, storeOption } from '../store.ts';

const EXAMPLES = `
Examples:
  uhop job dlq
  uhop job dlq --json | jq -r .id`;

/** `uhop job dlq` */
export function define(): Command {
  return new Command('dlq')
    .description('The dead letters: jobs parked by their budget or a failure, whole, each with its reason.')
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(dlq);
}

async function dlq(options: { readonly store: string }, command: Command): Promise<void> {
  const output = outputOf(command);
  await using store = await openExisting(options.store);
  let dead = 0;
  for await (const job of everyStatus(store, { state: 'dead' }, output)) {
    dead += 1;
    output.document(job);
    output.data(
      `${output.style('bold', shortId(job.id))}  ${job.op}  ${output.style('red', job.reason ?? 'dead')} after ${plural(job.attempts, 'attempt')}, ` +
        `${job.tiles.done} of ${job.tiles.total} tiles done`,
    );
    if (job.error) output.data(`               ${job.error.message} [${job.error.code}]`);
  }
  output.note(dead === 0 ? 'no dead jobs' : 'hint: `uhop job requeue ID --attempts N` lets one go on');
}
