import { Command } from 'commander';
import { addSubcommands, type Subcommand } from './subcommands.ts';

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  run: { summary: 'submit a job and work on it here', load: () => import('./job/run.ts') },
  submit: { summary: 'submit a job for any worker of the store', load: () => import('./job/submit.ts') },
  status: { summary: 'one job: state, tiles, holder, result', load: () => import('./job/status.ts') },
  list: { summary: 'the jobs of the store', load: () => import('./job/list.ts') },
  result: { summary: 'the result of a completed job', load: () => import('./job/result.ts') },
  cancel: { summary: 'end a job for good', load: () => import('./job/cancel.ts') },
  dlq: { summary: 'dead jobs, each with its reason', load: () => import('./job/dlq.ts') },
  requeue: { summary: 'give a dead job more attempts', load: () => import('./job/requeue.ts') },
};

const EXAMPLES = `
A small spec, to be found in full in \`uhop job run --help\`:
  { "op": "matmul", "inputs": { "a": "a.npy", "b": "b.npy" }, "output": "c.npy" }

Examples:
  uhop job run spec.json                 the same command goes on after a crash
  uhop job submit spec.json && uhop worker --until-idle
  uhop job list --json --store ./jobs`;

/** `uhop job …` */
export async function define(words: readonly string[]): Promise<Command> {
  const job = new Command('job')
    .description('Kernel jobs: long ops on .npy files, checkpointed after every tile.')
    .addHelpText('after', EXAMPLES);
  await addSubcommands(job, words, SUBCOMMANDS);
  return job;
}
