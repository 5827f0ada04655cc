import { Command } from 'commander';
import { openStore } from '../../dhp/index.ts';
import { type JobEvent, type JobOutcome, runJob, submitJob } from '../../jobs/index.ts';
import { EXIT, Failure } from '../failure.ts';
import { type Output, outputOf } from '../output.ts';
import { interruptible } from '../signals.ts';
import { shortId, storeOption } from '../store.ts';
import { runOptions, type WorkFlags, workOptions } from '../work-options.ts';
import { describeResult, eventView, isEnd } from './events.ts';
import { readSpec, SPEC_HELP } from './spec.ts';

const EXAMPLES = `${SPEC_HELP}
Ctrl-C (or SIGTERM) finishes the tile, checkpoints and releases the job; a second one stops at once. However it ended,
the same command goes on where it stopped. --json prints every event as a line.

Examples:
  uhop job run spec.json
  uhop job run spec.json --backend naive
  uhop job run spec.json --json | jq -c 'select(.type == "tile")'`;

const AGAIN = 'run the same command again: the finished tiles are kept';

/** `uhop job run` */
export function define(): Command {
  const command = new Command('run')
    .description('Submit a job and work on it here until it is done.')
    .argument('<spec.json>', 'job spec, - for stdin')
    .addOption(storeOption());
  for (const option of workOptions()) command.addOption(option);
  return command.addHelpText('after', EXAMPLES).action(run);
}

async function run(path: string, flags: WorkFlags & { readonly store: string }, command: Command): Promise<void> {
  const output = outputOf(command);
  using interrupt = interruptible(output);
  const { spec, cwd } = await readSpec(path);
  await using store = await openStore(flags.store);
  const { id } = await submitJob(store, spec, { cwd, signal: interrupt.signal });
  const outcome = await watched(output, (onEvent) =>
    runJob(store, id, { ...runOptions(flags), onEvent, signal: interrupt.signal }),
  );
  conclude(outcome, output, interrupt.signal);
}

type OnEvent = (event: JobEvent) => void;

/** Shows what happens on the way; how it ended is said by `conclude`. */
async function watched(output: Output, job: (onEvent: OnEvent) => Promise<JobOutcome>): Promise<JobOutcome> {
  using view = eventView(output);
  return await job((event) => {
    if (output.json || !isEnd(event)) view.show(event);
  });
}

function conclude(outcome: JobOutcome, output: Output, interrupt: AbortSignal): void {
  const job = shortId(outcome.id);
  switch (outcome.outcome) {
    case 'completed':
      output.data(describeResult(outcome.result));
      return;
    case 'released':
      if (!interrupt.aborted) throw new Failure('E_RELEASED', `${job} was given back: ${outcome.reason}`, AGAIN);
      process.exitCode = EXIT.interrupted;
      output.note('interrupted; run the same command again to go on');
      return;
    case 'lost':
      throw new Failure(
        'E_LEASE_LOST',
        `${job} is no longer ours${outcome.state ? `: it is ${outcome.state} now` : ''}`,
      );
    case 'failed':
      throw new Failure(outcome.error.code, outcome.error.message, AGAIN);
    case 'parked':
      throw new Failure(
        outcome.error?.code ?? 'E_BUDGET',
        `${job} is parked (${outcome.reason})${outcome.error ? `: ${outcome.error.message}` : ''}`,
        `\`uhop job requeue ${job} --attempts N\` lets it go on`,
      );
  }
}
