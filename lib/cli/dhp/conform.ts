import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { type CaseOutcome, openStore, runConformance } from '../../dhp/index.ts';
import { EXIT, UsageError } from '../failure.ts';
import { type Output, outputOf } from '../output.ts';

const EXAMPLES = `
Without a store it checks the SQLite store in a folder of its own, which it removes. A store that is named has to be new:
the cases leave their handoffs behind.

Examples:
  uhop dhp conform
  uhop dhp conform memory:
  uhop dhp conform ./new-store --json | jq '.cases[] | select(.ok | not)'`;

/** `uhop dhp conform` */
export function define(): Command {
  return new Command('conform')
    .description('Run the conformance suite of the handoff protocol on a store.')
    .argument('[store]', 'a new directory, or memory:')
    .addHelpText('after', EXAMPLES)
    .action(conform);
}

async function conform(store: string | undefined, _options: unknown, command: Command): Promise<void> {
  const output = outputOf(command);
  if (store !== undefined) {
    if (existsSync(store))
      throw new UsageError(`${store} exists already`, 'name a directory that does not: the cases fill it');
    return examine(store, output);
  }
  const folder = await mkdtemp(join(tmpdir(), 'uhop-conform-'));
  try {
    await examine(join(folder, 'store'), output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function examine(store: string, output: Output): Promise<void> {
  // A store that cannot be opened at all is one error, not one for each case.
  await (await openStore(store)).close();
  const report = await runConformance((now) => openStore(store, { now }), {
    onCase: (outcome) => output.data(line(outcome, output)),
  });
  output.data(`${report.passed} passed, ${report.failed} failed`);
  output.document({ store, ...report });
  if (report.failed > 0) process.exitCode = EXIT.failure;
}

function line({ name, ok, error, ms }: CaseOutcome, output: Output): string {
  const mark = ok ? output.style('green', 'ok  ') : output.style('red', 'FAIL');
  return `${mark}  ${name} ${output.style('dim', `(${ms.toFixed(0)} ms)`)}${error ? `\n      ${error.message}` : ''}`;
}
