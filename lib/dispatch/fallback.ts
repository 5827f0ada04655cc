/** What happens when a path fails or a backend that should be there is not: never in silence. */
import { type Backend, type Call, UhopError } from '../../backends/contract.ts';
import { flops } from '../ops/cost.ts';
import type { Candidate, Runtime } from './runtime.ts';
import { whyNot } from './select.ts';

/** How long a path that failed is passed over. */
const RETIRED_MS = 60_000;

/** Calls below this many operations are as quick in JavaScript as anywhere, and not worth a warning. */
const NOTABLE_FLOPS = 1e6;

/**
 * Retires the path that failed and gives the candidates left, with a warning. Throws `error` when it is not the path's
 * own failure (out of memory, device lost) or nothing is left.
 */
export function fallBack<B extends Backend>(
  runtime: Runtime,
  call: Call,
  failed: Candidate<B>,
  rest: readonly Candidate<B>[],
  error: unknown,
): readonly [Candidate<B>, ...Candidate<B>[]] {
  const [next, ...others] = rest;
  const passing = error instanceof UhopError && (error.code === 'E_OUT_OF_MEMORY' || error.code === 'E_DEVICE_LOST');
  if (!passing || !next) throw error;
  runtime.retired.set(failed.path.id, performance.now() + RETIRED_MS);
  const message = `${call.op}: ${failed.path.id} failed (${error.message}); ${next.path.id} runs instead`;
  warnOnce(runtime, call, failed.path.id, next.path.id, message);
  return [next, ...others];
}

/** Warns when plain JavaScript runs a call of some size because the addon cannot. */
export function noteMissingAddon(runtime: Runtime, call: Call, chosen: Candidate): void {
  if (chosen.backend.id !== 'naive' || flops(call) < NOTABLE_FLOPS) return;
  const addon = runtime.backends.find(({ id }) => id === 'cpu');
  const reason = addon && whyNot(addon);
  if (!reason || reason.code === 'disabled') return;
  const message = `${call.op} runs in plain JavaScript: ${reason.message}. ${reason.hint}`;
  warnOnce(runtime, call, 'cpu', chosen.path.id, message);
}

function warnOnce(runtime: Runtime, call: Call, from: string, to: string, message: string): void {
  const key = `${call.op} ${from} ${to}`;
  if (runtime.warned.has(key)) return;
  runtime.warned.add(key);
  process.emitWarning(message, { code: 'UHOP_FALLBACK' });
}
