#!/usr/bin/env node
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { EXIT, exitCodeOf, report } from './failure.ts';
import { addSubcommands, type Subcommand } from './subcommands.ts';

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  devices: { summary: 'what this machine has: built, present, usable', load: () => import('./devices.ts') },
  explain: { summary: 'which path an op would take, and why', load: () => import('./explain.ts') },
  doctor: { summary: 'check this installation and say what to do', load: () => import('./doctor.ts') },
  build: { summary: 'build the native addon', load: () => import('./build.ts') },
  job: { summary: 'run, submit and look after kernel jobs', load: () => import('./job.ts') },
  worker: { summary: 'claim and resume jobs of a store', load: () => import('./worker.ts') },
  supervisor: { summary: 'free the jobs of workers that died', load: () => import('./supervisor.ts') },
  dhp: { summary: 'durable handoffs: check a store', load: () => import('./dhp.ts') },
  demo: { summary: 'kill a worker in mid-tile and see nothing lost', load: () => import('./demo.ts') },
};

const EXAMPLES = `
Exit codes: 0 ok, 1 failure, 2 usage, 3 backend unavailable, 130 interrupted.

Examples:
  uhop devices                                    what can compute here
  uhop explain matmul 1024x512 512x2048           the paths of one op, ranked
  uhop job run spec.json                          a durable job; run it again after a crash
  uhop demo                                       the whole story in about a minute`;

async function main(argv: readonly string[]): Promise<number> {
  try {
    const program = await programFor(argv);
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    const code = exitCodeOf(error);
    const verbose = argv.includes('--verbose');
    if (code !== EXIT.ok) report(error, { json: argv.includes('--json'), verbose });
    return code;
  }
}

async function programFor(argv: readonly string[]): Promise<Command> {
  const { version } = createRequire(import.meta.url)('uhop/package.json') as { version: string };
  const program = new Command('uhop')
    .description('matmul, conv2d and relu by the best way this machine has, and kernel jobs that survive kill -9')
    .version(version)
    .option('--json', 'print JSON on stdout: one document, or one per line for streams')
    .option('--verbose', 'print the stack of an error (also UHOP_DEBUG=1)')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', EXAMPLES)
    .exitOverride();
  await addSubcommands(program, wordsOf(argv), SUBCOMMANDS);
  return program;
}

/** The words that can name a subcommand: what is left of the global flags, which take no value. */
function wordsOf(argv: readonly string[]): readonly string[] {
  return argv.filter((word) => !word.startsWith('-'));
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
process.exitCode = await main(process.argv.slice(2));
