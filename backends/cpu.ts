/**
 * The addon's kernels as execution paths: `cpu:gemm-avx512`, `cpu:conv-avx2`, `cpu:depthwise-avx2`, `cpu:relu-baseline`.
 * The arithmetic of a path is fixed by its kernel and instruction set: the same bits on every host that offers it,
 * whatever the number of threads.
 */
import { type Kernel, secondsOf } from './cpu/cost.ts';
import { type Cpu, examine } from './cpu/probe.ts';
import { shapeNumbers } from './cpu/shape.ts';
import { type Call, type Operands, type Path, type RunContext, type SyncBackend, UhopError } from './contract.ts';
import type { Addon, Variant } from './native.ts';

/** Calls expected to be done sooner run inside the call: a copy and a thread's wake-up would cost as much. */
const INLINE_SECONDS = 1e-4;

/** Taps beyond which the direct kernel does not go. */
const MOST_DIRECT_TAPS = 1024;

let examined: Cpu | undefined;

function state(refresh = false): Cpu {
  if (refresh || !examined) examined = examine();
  return examined;
}

/** The kernels that compute this call; those that compute it directly first. */
function kernelsFor(call: Call): readonly Kernel[] {
  if (call.op === 'relu') return ['relu'];
  if (call.dtype !== 'f32' && call.dtype !== 'f64') return [];
  if (call.op === 'matmul') return ['gemm'];
  const direct = call.C > 0 && call.groups === call.C && (call.layout === 'nchw' || call.O === call.C);
  const small = call.KH <= MOST_DIRECT_TAPS && call.KW <= MOST_DIRECT_TAPS;
  return direct && small ? ['depthwise', 'conv'] : ['conv'];
}

function pathsOf(call: Call): readonly Path[] {
  const { isas, threads } = state();
  const paths = kernelsFor(call).flatMap((kernel) =>
    isas.map((isa): Path => {
      const seconds = secondsOf(call, kernel, isa, threads);
      const inline = kernel === 'relu' || secondsOf(call, kernel, isa, 1) < INLINE_SECONDS;
      return { id: `cpu:${kernel}-${isa}`, backend: 'cpu', seconds, source: 'estimate', inline, isa };
    }),
  );
  return paths.sort((left, right) => left.seconds - right.seconds);
}

const variantIndex = new Map<string, number>();

function variantOf({ variants }: Addon, path: Path, call: Call): number {
  const kernel = path.id.slice('cpu:'.length, path.id.lastIndexOf('-'));
  const op: Variant['op'] = kernel === 'conv' ? 'gemm' : (kernel as Exclude<Kernel, 'conv'>);
  const key = `${op} ${call.dtype} ${path.isa}`;
  let index = variantIndex.get(key);
  if (index === undefined) {
    index = variants.findIndex((one) => one.op === op && one.dtype === call.dtype && one.isa === path.isa);
    variantIndex.set(key, index);
  }
  return index;
}

type AddonCall = Parameters<Addon['runSync']>;

function bind(path: Path, call: Call, operands: Operands): { addon: Addon; bound: AddonCall } {
  const { addon, threads } = state();
  if (!addon) throw new UhopError('E_BACKEND_UNAVAILABLE', 'the native addon is not usable', { path: path.id });
  const [x, w] = operands.inputs;
  const variant = variantOf(addon, path, call);
  return { addon, bound: [variant, threads, shapeNumbers(call), x!, w, operands.bias, operands.out] };
}

function outOfMemory(call: Call, path: Path): UhopError {
  return new UhopError('E_OUT_OF_MEMORY', `${call.op}: no memory for the workspace of ${path.id}`, { path: path.id });
}

function runSync(path: Path, call: Call, operands: Operands): void {
  const { addon, bound } = bind(path, call, operands);
  try {
    addon.runSync(...bound);
  } catch (error) {
    throw (error as { code?: string }).code === 'E_OUT_OF_MEMORY' ? outOfMemory(call, path) : error;
  }
}

function aborted(call: Call, signal: AbortSignal): UhopError {
  return new UhopError('E_ABORTED', `${call.op} was aborted`, {}, signal.reason);
}

async function run(path: Path, call: Call, operands: Operands, { signal }: RunContext): Promise<void> {
  if (signal?.aborted) throw aborted(call, signal);
  if (path.inline) return runSync(path, call, operands);
  const { addon, bound } = bind(path, call, operands);
  return new Promise((resolve, reject) => {
    const cancel = (): void => addon.cancel(ticket);
    const ticket = addon.run(...bound, (outcome) => {
      signal?.removeEventListener('abort', cancel);
      if (outcome === 0) resolve();
      else reject(outcome === 1 && signal ? aborted(call, signal) : outOfMemory(call, path));
    });
    signal?.addEventListener('abort', cancel, { once: true });
  });
}

/** The CPU through the addon; one device, no path where the addon is missing or switched off. */
export const cpu: SyncBackend = {
  id: 'cpu',
  probe: async (refresh) => [state(refresh).device],
  probeSync: (refresh) => [state(refresh).device],
  paths: pathsOf,
  run,
  runSync,
};
