import { Option } from 'commander';
import type { RunOptions } from '../jobs/index.ts';
import { devices } from '../index.ts';
import { Failure } from './failure.ts';
import { wholeNumber } from './values.ts';

/** The options of everything that works on jobs. */
export interface WorkFlags {
  readonly backend?: string;
  readonly ttl?: number;
  readonly heartbeat?: number;
  readonly grace?: number;
}

/** `--backend`, `--ttl`, `--heartbeat`, `--grace`. */
export function workOptions(): readonly Option[] {
  return [
    new Option('--backend <id>', 'use only this backend, e.g. cpu or naive'),
    new Option('--ttl <ms>', 'silence after which others may take over').argParser(wholeNumber),
    new Option('--heartbeat <ms>', 'time between signs of life').argParser(wholeNumber),
    new Option('--grace <ms>', 'how long a signal waits for the tile in flight').argParser(wholeNumber),
  ];
}

/** A worker whose backend is not there would wait for ever: E_BACKEND_UNAVAILABLE with the probe's reason instead. */
export async function assertUsable(backend: string | undefined = process.env['UHOP_BACKEND']): Promise<void> {
  if (!backend) return;
  const [name] = backend.split(':');
  const found = (await devices()).filter((device) => device.backend === name);
  if (found.some(({ usable }) => usable)) return;
  const reason = found.find((device) => device.reason)?.reason;
  throw new Failure('E_BACKEND_UNAVAILABLE', reason?.message ?? `there is no backend '${backend}'`, reason?.hint);
}

/** The flags as the job runner takes them. */
export function runOptions(flags: WorkFlags): Pick<RunOptions, 'backend' | 'ttlMs' | 'heartbeatMs' | 'graceMs'> {
  return {
    ...(flags.backend === undefined ? {} : { backend: flags.backend }),
    ...(flags.ttl === undefined ? {} : { ttlMs: flags.ttl }),
    ...(flags.heartbeat === undefined ? {} : { heartbeatMs: flags.heartbeat }),
    ...(flags.grace === undefined ? {} : { graceMs: flags.grace }),
  };
}
