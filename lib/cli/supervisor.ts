import { once } from 'node:events';
import { Command } from 'commander';
import { openStore, Supervisor, type SupervisorEvent } from '../dhp/index.ts';
import { EXIT } from './failure.ts';
import { outputOf } from './output.ts';
import { interruptible } from './signals.ts';
import { shortId, storeOption } from './store.ts';
import { wholeNumber } from './values.ts';

const EXAMPLES = `
A dead process of this host is noticed within moments, a silent worker elsewhere after its TTL. Any number may run.

Examples:
  uhop supervisor
  uhop supervisor --store /srv/jobs --json`;

const REMIND_MS = 60_000;

interface Flags {
  readonly store: string;
  readonly poll?: number;
}

/** `uhop supervisor` */
export function define(): Command {
  return new Command('supervisor')
    .description('Watch the workers of a store and free the jobs of those that died, until stopped.')
    .addOption(storeOption())
    .option('--poll <ms>', 'time between sweeps', wholeNumber)
    .addHelpText('after', EXAMPLES)
    .action(supervise);
}

async function supervise(flags: Flags, command: Command): Promise<void> {
  const output = outputOf(command);
  using interrupt = interruptible(output);
  await using store = await openStore(flags.store);
  const isNews = newsFilter();
  await using supervisor = new Supervisor(store, {
    ...(flags.poll === undefined ? {} : { pollMs: flags.poll }),
    onEvent: (event) => {
      const text = sentence(event);
      if (event.type === 'error' && !isNews(text)) return;
      output.document(event);
      output.note(text);
    },
  });
  supervisor.start();
  if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort');
  process.exitCode = EXIT.interrupted;
}

/** Trouble is met again at every sweep and told of once a minute. */
function newsFilter(): (text: string) => boolean {
  const toldAt = new Map<string, number>();
  return (text) => {
    const now = performance.now();
    if (now - (toldAt.get(text) ?? Number.NEGATIVE_INFINITY) < REMIND_MS) return false;
    toldAt.set(text, now);
    return true;
  };
}

function sentence(event: SupervisorEvent): string {
  switch (event.type) {
    case 'orphaned':
      return `${shortId(event.id)}: free for another worker (${event.reason})`;
    case 'parked':
      return `${shortId(event.id)}: parked (${event.reason})`;
    case 'leading':
      return `leading (term ${event.term})`;
    case 'forgot':
      return `stood still for ${Math.round(event.gapMs)} ms; observing anew`;
    case 'collected':
      return `removed ${event.blobs} blobs that nothing names any more`;
    case 'error':
      return `${event.id ? shortId(event.id) : 'store'}: ${String(event.error)}; trying again`;
  }
}
