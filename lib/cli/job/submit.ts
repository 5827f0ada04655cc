import { Command } from 'commander';
import { openStore } from '../../dhp/index.ts';
import { submitJob } from '../../jobs/index.ts';
import { plural } from '../format.ts';
import { outputOf } from '../output.ts';
import { storeOption } from '../store.ts';
import { readSpec, SPEC_HELP } from './spec.ts';

const EXAMPLES = `${SPEC_HELP}
Submitting the same spec again answers the same job. The id is printed alone on stdout.

Examples:
  uhop job submit spec.json
  id=$(uhop job submit spec.json) && uhop worker --until-idle && uhop job result "$id"`;

/** `uhop job submit` */
export function define(): Command {
  return new Command('submit')
    .description('Check a job spec, pin its input files by their SHA-256 and put the job into the store.')
    .argument('<spec.json>', 'job spec, - for stdin')
    .addOption(storeOption())
    .addHelpText('after', EXAMPLES)
    .action(submit);
}

async function submit(path: string, options: { readonly store: string }, command: Command): Promise<void> {
  const output = outputOf(command);
  const { spec, cwd } = await readSpec(path);
  await using store = await openStore(options.store);
  const { id, created, plan } = await submitJob(store, spec, { cwd });
  output.note(`${created ? 'submitted' : 'already there'}: ${spec.op}, ${plural(plan.tiles, 'tile')}`);
  output.data(id);
  output.document({ id, created, op: spec.op, tiles: plan.tiles, store: options.store });
}
