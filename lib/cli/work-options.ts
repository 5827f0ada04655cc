import { Option } from 'commander';
import type { RunOptions } from '../jobs/index.ts';
import { wholeNumber } from './values.ts';

/** The options of everything that works on jobs. */
export interface WorkFlags {
  readonly backend?: string;
  readonly ttl?: number;
  readonly heartbeat?: number;
  readonly grace?: number;
  readonly progressTimeout?: number;
}

/** `--backend`, `--ttl`, `--heartbeat`, `--grace`, `--progress-timeout`. */
export function workOptions(): readonly Option[] {
  return [
    new Option('--backend <id>', 'use only this backend, e.g. cpu or naive'),
    new Option('--ttl <ms>', 'silence after which others may take over').argParser(wholeNumber),
    new Option('--heartbeat <ms>', 'time between signs of life').argParser(wholeNumber),
    new Option('--grace <ms>', 'how long a signal waits for the tile in flight').argParser(wholeNumber),
    new Option('--progress-timeout <ms>', 'without a new tile for this long the job goes to others').argParser(
      wholeNumber,
    ),
  ];
}

/** The flags as the job runner takes them. */
export function runOptions(flags: WorkFlags): Omit<RunOptions, 'workerId' | 'signal' | 'onEvent'> {
  return {
    ...(flags.backend === undefined ? {} : { backend: flags.backend }),
    ...(flags.ttl === undefined ? {} : { ttlMs: flags.ttl }),
    ...(flags.heartbeat === undefined ? {} : { heartbeatMs: flags.heartbeat }),
    ...(flags.grace === undefined ? {} : { graceMs: flags.grace }),
    ...(flags.progressTimeout === undefined ? {} : { progressTimeoutMs: flags.progressTimeout }),
  };
}
