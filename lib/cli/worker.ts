import { Command } from 'commander';
import { openStore } from '../dhp/index.ts';
import { type JobEvent, type JobOp, workLoop } from '../jobs/index.ts';
import { EXIT } from './failure.ts';
import { eventView, isEnd } from './job/events.ts';
import { outputOf } from './output.ts';
import { interruptible } from './signals.ts';
import { storeOption } from './store.ts';
import { listOf, wholeNumber } from './values.ts';
import { runOptions, type WorkFlags, workOptions } from './work-options.ts';

const OPS: readonly JobOp[] = ['matmul', 'conv2d', 'relu'];

const EXAMPLES = `
Any number of workers may share a store. SIGTERM finishes the tile, checkpoints and releases the job, and another
worker goes on at once. After SIGKILL one of the same host goes on at its next look; a worker that is frozen or whose
host is gone is noticed by \`uhop supervisor\`, after its TTL. One that hangs in a tile while its heart beats loses the job
only with --progress-timeout.

Examples:
  uhop worker
  uhop worker --until-idle --kinds matmul,relu
  uhop worker --json --store /srv/jobs`;

interface Flags extends WorkFlags {
  readonly store: string;
  readonly id?: string;
  readonly kinds?: readonly JobOp[];
  readonly untilIdle?: boolean;
  readonly once?: boolean;
  readonly poll?: number;
}

/** `uhop worker` */
export function define(): Command {
  const command = new Command('worker')
    .description('Claim, resume and finish the jobs of a store until stopped.')
    .addOption(storeOption())
    .option('--id <name>', 'name in the records (default: host and process id)')
    .option('--kinds <ops>', `only these, comma-separated: ${OPS.join(', ')}`, listOf(OPS))
    .option('--once', 'leave after one job')
    .option('--until-idle', 'leave when there is nothing to take')
    .option('--poll <ms>', 'pause between looks at the store', wholeNumber);
  for (const option of workOptions()) command.addOption(option);
  return command.addHelpText('after', EXAMPLES).action(work);
}

async function work(flags: Flags, command: Command): Promise<void> {
  const output = outputOf(command);
  using interrupt = interruptible(output);
  const served = new AbortController();
  await using store = await openStore(flags.store);
  using view = eventView(output);
  const onEvent = (event: JobEvent): void => {
    view.show(event);
    if (flags.once && isEnd(event)) served.abort();
  };
  const summary = await workLoop(store, {
    ...runOptions(flags),
    ...(flags.id === undefined ? {} : { workerId: flags.id }),
    ...(flags.kinds === undefined ? {} : { kinds: flags.kinds }),
    ...(flags.poll === undefined ? {} : { pollMs: flags.poll }),
    until: flags.untilIdle ? 'idle' : 'signal',
    signal: AbortSignal.any([interrupt.signal, served.signal]),
    onEvent,
  });
  output.data(
    Object.entries(summary)
      .map(([name, count]) => `${count} ${name}`)
      .join(', '),
  );
  output.document({ type: 'summary', ...summary });
  if (interrupt.signal.aborted) process.exitCode = EXIT.interrupted;
}
