import { Command } from 'commander';
import { outputOf } from '../output.ts';
import { openExisting, resolveId, storeOption } from '../store.ts';

const EXAMPLES = `
A worker that is on it stops within a heartbeat. The job stays in the store, with the tiles it had.

Examples:
  uhop job cancel h1_3f9c`;

/** `uhop job cancel` */
export function define(): Command {
  return new Command('cancel')
    .description('End a job for good, whoever works on it.')
    .argument('<id>', 'job id, or the beginning of one')
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(cancel);
}

async function cancel(id: string, options: { readonly store: string }, command: Command): Promise<void> {
  const output = outputOf(command);
  await using store = await openExisting(options.store);
  const { id: whole, state } = await store.cancel(await resolveId(store, id));
  output.data(`${whole} ${state}`);
  output.document({ id: whole, state });
}
