/** One op on one runtime: from the arguments as the user gave them to the result. */
import { type Call, type ResultTensor, UhopError } from '../../backends/contract.ts';
import { checkBoolean, checkOptionNames, show } from '../ops/arguments.ts';
import { bind } from '../ops/bind.ts';
import { OPS } from '../ops/index.ts';
import { execute, executeSync } from './execute.ts';
import type { Runtime } from './runtime.ts';
import { forcedBy } from './select.ts';

const SYNC_OPTIONS = ['out', 'backend'];
const ASYNC_OPTIONS = [...SYNC_OPTIONS, 'signal', 'borrow'];

export function runSync(
  runtime: Runtime,
  name: Call['op'],
  values: readonly unknown[],
  options: object = {},
): ResultTensor {
  const op = OPS[name];
  checkOptionNames(`${name}Sync`, options, [...op.attributes, ...SYNC_OPTIONS]);
  const given: Readonly<Record<string, unknown>> = { ...options };
  const forced = forcedBy(given.backend);
  return executeSync(runtime, bind(op, values, given), forced);
}

/** Everything wrong with the arguments rejects; nothing is thrown. */
export async function run(
  runtime: Runtime,
  name: Call['op'],
  values: readonly unknown[],
  options: object = {},
): Promise<ResultTensor> {
  const op = OPS[name];
  checkOptionNames(name, options, [...op.attributes, ...ASYNC_OPTIONS]);
  const given: Readonly<Record<string, unknown>> = { ...options };
  const forced = forcedBy(given.backend);
  const borrow = checkBoolean(given.borrow, `${name}: borrow`);
  const signal = checkSignal(given.signal, name);
  return execute(runtime, bind(op, values, given), forced, { signal, borrow });
}

function checkSignal(signal: unknown, name: string): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new UhopError('E_ARGUMENT', `${name}: signal must be an AbortSignal, got ${show(signal)}`);
}
