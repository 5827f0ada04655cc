import { inspect } from 'node:util';
import { CommanderError } from 'commander';
import { paint, toJson } from './output.ts';

/** 0 ok, 1 failure, 2 usage, 3 backend unavailable, 130 interrupted. */
export const EXIT = { ok: 0, failure: 1, usage: 2, unavailable: 3, interrupted: 130 } as const;

/** A command ends without what it was asked for. */
export class Failure extends Error {
  readonly code: string;
  readonly details: { readonly hint?: string };

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.name = 'Failure';
    this.code = code;
    this.details = hint === undefined ? {} : { hint };
  }
}

/** The command line asks for something that makes no sense. */
export class UsageError extends Failure {
  constructor(message: string, hint: string, code = 'E_USAGE') {
    super(code, message, hint);
    this.name = 'UsageError';
  }
}

/** What a person can do, by error code, where the error itself carries no hint. */
const HINTS: Readonly<Record<string, string>> = {
  E_BACKEND_UNAVAILABLE: '`uhop devices` shows every backend with its reason; `uhop doctor` says what to install',
  E_NOT_FOUND: '`uhop job list` shows the jobs of this store; --store names another one',
  E_BUDGET: '`uhop job dlq` shows why; `uhop job requeue ID --attempts N` grants more',
  E_STORE_NEWER: 'update the package: the store was written by a newer version',
  E_STORE_FULL: 'free some disk space and run the same command again: nothing was lost',
  E_NETWORK_FS: 'put the store on a local disk with --store DIR',
  E_LEASE_LOST: 'another worker has the job now; `uhop job status ID` shows it',
  E_BLOB_CORRUPT: 'the tile is computed again when a worker resumes the job',
  ENOENT: 'check the path',
  EACCES: 'check the permissions of the path',
  ENOSPC: 'free some disk space and run the same command again',
};

/** The same for E_STATE, by the state that the job is in. */
const STATE_HINTS: Readonly<Record<string, string>> = {
  claimed: 'somebody works on it; `uhop job status ID` shows who',
  dead: '`uhop job dlq` shows why; `uhop job requeue ID --attempts N` lets it go on',
  cancelled: 'it was cancelled for good; give the spec another "nonce" to start it anew',
  completed: '`uhop job result ID` shows the result',
};

interface Described {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** The exit code an error ends the command with. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof UsageError) return EXIT.usage;
  const { code } = describe(error);
  if (code === 'E_BACKEND_UNAVAILABLE') return EXIT.unavailable;
  if (code === 'E_ABORTED') return EXIT.interrupted;
  return EXIT.failure;
}

/** One sentence, the hint, the code; the stack with `--verbose` or `UHOP_DEBUG`. Under `--json` also a document on stdout. */
export function report(error: unknown, options: { readonly json: boolean; readonly verbose: boolean }): void {
  const described = describe(error);
  if (options.json) process.stdout.write(`${toJson({ error: described })}\n`);
  if (error instanceof CommanderError) return;
  const { stderr } = process;
  const label = paint(stderr, ['red', 'bold'], 'error:');
  stderr.write(`${label} ${described.message} ${paint(stderr, 'dim', `[${described.code}]`)}\n`);
  if (described.hint) stderr.write(`${paint(stderr, 'cyan', 'hint:')} ${described.hint}\n`);
  if ((options.verbose || process.env['UHOP_DEBUG']) && error instanceof Error) stderr.write(`${inspect(error)}\n`);
}

function describe(error: unknown): Described {
  if (error instanceof CommanderError) {
    return { code: 'E_USAGE', message: error.message.replace(/^error: /, '').replaceAll('\n', ' ') };
  }
  if (error === 'SIGINT' || error === 'SIGTERM') return { code: 'E_ABORTED', message: `stopped by ${error}` };
  if (!(error instanceof Error)) return { code: 'E_FAILURE', message: String(error) };
  const { code, details } = error as Error & { code?: unknown; details?: Readonly<Record<string, unknown>> };
  const known = typeof code === 'string' ? code : 'E_FAILURE';
  const general = known === 'E_STATE' ? STATE_HINTS[String(details?.['state'])] : HINTS[known];
  const hint = typeof details?.['hint'] === 'string' ? details['hint'] : general;
  return { code: known, message: error.message, ...(hint === undefined ? {} : { hint }) };
}
