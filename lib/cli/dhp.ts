import { Command } from 'commander';
import { addSubcommands, type Subcommand } from './subcommands.ts';

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  conform: { summary: 'run the conformance suite on a store', load: () => import('./dhp/conform.ts') },
};

/** `uhop dhp …` */
export async function define(words: readonly string[]): Promise<Command> {
  const dhp = new Command('dhp').description('Durable handoffs: what a store must do, and whether it does.');
  await addSubcommands(dhp, words, SUBCOMMANDS);
  return dhp;
}
