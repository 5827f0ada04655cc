/** Which path runs a call: the forced one, or the one expected to be done first. */
import { type Backend, type Call, type Reason, UhopError } from '../../backends/contract.ts';
import { nearest, show } from '../ops/arguments.ts';
import { type Candidate, isSync, type Runtime } from './runtime.ts';

/** A backend or path id that somebody insists on, and who. */
export interface Forced {
  readonly id: string;
  readonly by: string;
}

/** The `backend` option, else `UHOP_BACKEND`, else nothing is forced. */
export function forcedBy(option: unknown): Forced | undefined {
  if (option !== undefined) {
    if (typeof option === 'string' && option !== '') return { id: option, by: 'the option backend' };
    const expected = "a backend or path id such as 'cpu' or 'naive:js'";
    throw new UhopError('E_ARGUMENT', `backend must be ${expected}, got ${show(option)}`);
  }
  const id = process.env.UHOP_BACKEND;
  return id ? { id, by: 'UHOP_BACKEND' } : undefined;
}

/** Every path on offer for a call, the fastest first; of equals, the backend registered first. */
export function offered<B extends Backend>(backends: readonly B[], call: Call): readonly Candidate<B>[] {
  const all: Candidate<B>[] = [];
  for (const backend of backends) for (const path of backend.paths(call)) all.push({ path, backend });
  return all.sort((left, right) => left.path.seconds - right.path.seconds);
}

/** The candidates to try, in order; at least one. A forced choice leaves only its own, retired or not. */
export function select<B extends Backend>(
  runtime: Runtime,
  backends: readonly B[],
  call: Call,
  forced: Forced | undefined,
): readonly [Candidate<B>, ...Candidate<B>[]] {
  const all = offered(backends, call);
  const chosen = forced ? all.filter((one) => isForced(one, forced)) : standing(runtime, all);
  const [first, ...rest] = chosen;
  if (first) return [first, ...rest];
  if (forced) throw refusal(runtime, backends, call, forced, all);
  throw new UhopError('E_BACKEND_UNAVAILABLE', `no backend has a path for this ${call.dtype} ${call.op}`);
}

/** A path that failed lately comes after every other, so that there is always one to try. */
function standing<B extends Backend>(runtime: Runtime, all: readonly Candidate<B>[]): readonly Candidate<B>[] {
  const retired = all.filter(({ path }) => isRetired(runtime, path.id));
  return retired.length === 0 ? all : [...all.filter((one) => !retired.includes(one)), ...retired];
}

export function isRetired(runtime: Runtime, pathId: string): boolean {
  const until = runtime.retired.get(pathId);
  if (until === undefined) return false;
  if (until > performance.now()) return true;
  runtime.retired.delete(pathId);
  return false;
}

export function isForced({ path }: Candidate, { id }: Forced): boolean {
  return path.id === id || path.backend === id || path.id.startsWith(`${id}:`);
}

/** Why a backend cannot be used; undefined when it can. */
export function whyNot(backend: Backend): Reason | undefined {
  if (!isSync(backend)) return undefined;
  const devices = backend.probeSync();
  return devices.some(({ usable }) => usable) ? undefined : devices.find(({ reason }) => reason)?.reason;
}

function refusal(
  runtime: Runtime,
  backends: readonly Backend[],
  call: Call,
  { id, by }: Forced,
  all: readonly Candidate[],
): UhopError {
  const name = id.split(':')[0]!;
  const known = runtime.backends.map((one) => one.id);
  const backend = runtime.backends.find((one) => one.id === name);
  if (!backend) {
    const meant = nearest(name, known);
    const advice = meant ? `did you mean '${meant}'?` : `there are ${known.join(', ')}`;
    const message = `there is no backend '${name}', which ${by} asks for: ${advice}`;
    return new UhopError('E_BACKEND_UNAVAILABLE', message, { forced: id, backends: known });
  }
  const paths = all.map(({ path }) => path.id);
  const reason = whyNot(backend);
  let why = `the paths on offer for this ${call.dtype} call are ${paths.join(', ')}`;
  if (reason) why = `${reason.message}. ${reason.hint}`;
  else if (!backends.includes(backend)) why = `it cannot answer inside the call; use ${call.op}() instead`;
  const message = `${call.op} cannot run on '${id}', which ${by} asks for: ${why}`;
  return new UhopError('E_BACKEND_UNAVAILABLE', message, { forced: id, reason, paths });
}
