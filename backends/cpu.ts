/**
 * The addon's kernels as execution paths: `cpu:gemm-avx512`, `cpu:conv-avx2`, `cpu:depthwise-avx2`, `cpu:relu-baseline`.
 * The arithmetic of a path is fixed by its kernel and instruction set: the same bits on every host that offers it,
 * whatever the number of threads.
 */
import { type Kernel, secondsOf, workOf } from './cpu/cost.ts';
import { type Cpu, examine } from './cpu/probe.ts';
import { shapeNumbers } from './cpu/shape.ts';
import {
  type Call,
  type Conv2dCall,
  type DType,
  type Operands,
  type Path,
  type RunContext,
  type SyncBackend,
  UhopError,
} from './contract.ts';
import type { Addon } from './native.ts';

/** Calls expected to be done sooner run inside the call: a copy and a thread's wake-up would cost as much. */
const INLINE_SECONDS = 1e-4;

/** Taps beyond which the direct kernel does not go. */
const MOST_DIRECT_TAPS = 1024;

/** One way to run calls, on one instruction set: the variant of each element type, by its index in the addon. */
interface Offer {
  readonly id: string;
  readonly kernel: Kernel;
  readonly isa: string;
  readonly variants: ReadonlyMap<DType, number>;
}

interface State extends Cpu {
  readonly offers: ReadonlyMap<string, Offer>;
}

let known: State | undefined;

function state(refresh = false): State {
  if (refresh || !known) {
    const examined = examine();
    known = { ...examined, offers: offersOf(examined) };
  }
  return known;
}

/** A convolution by way of packed panels runs on the gemm kernels. */
const VARIANT_OP = { gemm: 'gemm', conv: 'gemm', depthwise: 'depthwise', relu: 'relu' } as const;

function offersOf({ addon, isas }: Cpu): ReadonlyMap<string, Offer> {
  const offers = new Map<string, Offer>();
  for (const kernel of Object.keys(VARIANT_OP) as Kernel[]) {
    for (const isa of isas) {
      const variants = new Map<DType, number>();
      for (const [index, variant] of addon!.variants.entries()) {
        if (variant.op === VARIANT_OP[kernel] && variant.isa === isa) variants.set(variant.dtype, index);
      }
      const id = `cpu:${kernel}-${isa}`;
      offers.set(id, { id, kernel, isa, variants });
    }
  }
  return offers;
}

function computes({ kernel, variants }: Offer, call: Call): boolean {
  if (!variants.has(call.dtype)) return false;
  if (kernel === 'relu' || kernel === 'gemm') return call.op === (kernel === 'gemm' ? 'matmul' : 'relu');
  if (call.op !== 'conv2d') return false;
  return kernel === 'conv' || isDepthwise(call);
}

/** What the direct kernel does: one input channel per group, and with interleaved channels one output channel too. */
function isDepthwise({ C, O, KH, KW, groups, layout }: Conv2dCall): boolean {
  const small = KH <= MOST_DIRECT_TAPS && KW <= MOST_DIRECT_TAPS;
  return C > 0 && groups === C && (layout === 'nchw' || O === C) && small;
}

function nameOf(variant: number): string {
  return state().addon!.variants[variant]!.name;
}

function pathsOf(call: Call): readonly Path[] {
  const { offers, threads } = state();
  const work = workOf(call);
  const paths: Path[] = [];
  for (const offer of offers.values()) {
    if (!computes(offer, call)) continue;
    const { id, kernel, isa, variants } = offer;
    const seconds = secondsOf(work, kernel, isa, threads);
    const inline = kernel === 'relu' || secondsOf(work, kernel, isa, 1) < INLINE_SECONDS;
    paths.push({
      id,
      backend: 'cpu',
      seconds,
      source: 'estimate',
      inline,
      isa,
      kernel: nameOf(variants.get(call.dtype)!),
    });
  }
  return paths.sort((left, right) => left.seconds - right.seconds);
}

type AddonCall = Parameters<Addon['runSync']>;

function bind(path: Path, call: Call, operands: Operands): { addon: Addon; bound: AddonCall } {
  const { addon, threads, offers } = state();
  const variant = offers.get(path.id)?.variants.get(call.dtype);
  if (!addon || variant === undefined) {
    throw new UhopError('E_BACKEND_UNAVAILABLE', `${path.id} does not compute ${call.dtype} ${call.op} here`);
  }
  const [x, w] = operands.inputs;
  return { addon, bound: [variant, threads, shapeNumbers(call), x!, w, operands.bias, operands.out] };
}

function outOfMemory(call: Call, path: Path, cause?: Error): UhopError {
  const why = cause?.message ?? 'the workspace of the call cannot be allocated';
  return new UhopError('E_OUT_OF_MEMORY', `${call.op}: ${path.id}: ${why}`, { path: path.id }, cause);
}

/** Calls into the addon; what it throws for lack of memory or threads becomes an error of ours. */
function native<T>(call: Call, path: Path, enter: () => T): T {
  try {
    return enter();
  } catch (error) {
    throw (error as { code?: string }).code === 'E_OUT_OF_MEMORY' ? outOfMemory(call, path, error as Error) : error;
  }
}

function runSync(path: Path, call: Call, operands: Operands): void {
  const { addon, bound } = bind(path, call, operands);
  native(call, path, () => addon.runSync(...bound));
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
    const done = (outcome: number): void => {
      signal?.removeEventListener('abort', cancel);
      if (outcome === 0) resolve();
      else reject(outcome === 1 && signal ? aborted(call, signal) : outOfMemory(call, path));
    };
    const ticket = native(call, path, () => addon.run(...bound, done));
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
