import { Command } from 'commander';
import type { Grant } from '../../dhp/types.ts';
import { outputOf } from '../output.ts';
import { openExisting, resolveId, storeOption } from '../store.ts';
import { wholeNumber } from '../values.ts';

const EXAMPLES = `
The grant is recorded beside the job; its id and its finished tiles stay.

Examples:
  uhop job requeue h1_3f9c --attempts 3
  uhop job requeue h1_3f9c --attempts 1 --wall-ms 600000`;

interface Options {
  readonly store: string;
  readonly attempts: number;
  readonly wallMs?: number;
}

/** `uhop job requeue` */
export function define(): Command {
  return new Command('requeue')
    .description('Give a dead job more attempts (or more time), so that a worker can go on with it.')
    .argument('<id>', 'job id, or the beginning of one')
    .option('--attempts <n>', 'attempts to add', wholeNumber, 1)
    .option('--wall-ms <ms>', 'wall-clock time to add, in milliseconds', wholeNumber)
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(requeue);
}

async function requeue(id: string, options: Options, command: Command): Promise<void> {
  const output = outputOf(command);
  await using store = await openExisting(options.store);
  const grant: Grant = {
    attempts: options.attempts,
    ...(options.wallMs === undefined ? {} : { wall_ms: options.wallMs }),
  };
  const { id: whole, state, reason } = await store.requeue(await resolveId(store, id), grant);
  output.data(`${whole} ${state} (${reason})`);
  output.document({ id: whole, state, reason, grant });
}
