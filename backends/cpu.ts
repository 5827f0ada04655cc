/**
 * The addon's kernels as execution paths: `cpu:gemm-avx512`, `cpu:conv-avx2`, `cpu:depthwise-avx2`,
 * `cpu:winograd-avx512`, `cpu:relu-baseline`.
 * The arithmetic of a path is fixed by its kernel and instruction set: the same bits on every host that offers it,
 * whatever the number of threads.
 */
import { onAbort } from './cpu/abort.ts';
import { type Kernel, secondsOf, workOf } from './cpu/cost.ts';
import { type Cpu, examine } from './cpu/probe.ts';
import { shapeNumbers } from './cpu/shape.ts';
import { weightPanels, weightPanelsSync } from './cpu/weights.ts';
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
import type { Bound } from './native.ts';

/** Calls expected to be done sooner run inside the call: a copy and a thread's wake-up would cost as much. */
const INLINE_SECONDS = 1e-4;

/** Taps beyond which the direct kernel does not go. */
const MOST_DIRECT_TAPS = 1024;

/** A kernel on one instruction set, for one op and element type. */
interface Offer {
  readonly id: string;
  readonly kernel: Kernel;
  readonly isa: string;
  /** Its index in the addon, and its name there. */
  readonly variant: number;
  readonly name: string;
}

interface State extends Cpu {
  /** By op and element type, the best instruction set first. */
  readonly offers: ReadonlyMap<string, readonly Offer[]>;
  /** What was offered for calls that may come again. */
  readonly paths: WeakMap<Call, readonly Path[]>;
}

let known: State | undefined;

function state(refresh = false): State {
  if (refresh || !known) {
    const examined = examine();
    known = { ...examined, offers: offersOf(examined), paths: new WeakMap() };
  }
  return known;
}

/**
 * The kernels of each op, and whose variants they run on: a convolution by way of packed panels runs on gemm's.
 *
 * `winograd` is F(2×2, 3×3) of Lavin and Gray (2016), 2.25 times fewer products. It keeps the op's tolerance where the
 * inputs under one 2×2 tile of the output are of a size; else an element is within γ·16·Σ_c max|d|·Σ|g| of the exact one,
 * d the 4×4 inputs of channel c under its tile and g the taps, γ that of C/groups + 12 operations. Integers stay exact
 * while four times each sum of |products| is below 2^24. NaN, infinities and overflow are those of the direct sum.
 * `winograd4` is F(4×4, 3×3), four times fewer products and on numbers of one size some
 * five times the error (root mean square): with `precision: 'fast'` only.
 */
const KERNELS = [
  ['matmul', 'gemm', 'gemm'],
  ['conv2d', 'conv', 'gemm'],
  ['conv2d', 'depthwise', 'depthwise'],
  ['conv2d', 'winograd', 'winograd2'],
  ['conv2d', 'winograd4', 'winograd4'],
  ['relu', 'relu', 'relu'],
] as const;

function offersOf({ addon, isas }: Cpu): State['offers'] {
  const offers = new Map<string, Offer[]>();
  for (const [op, kernel, family] of KERNELS) {
    for (const [variant, { op: of, dtype, isa, name }] of (addon?.variants ?? []).entries()) {
      if (of !== family || !isas.includes(isa)) continue;
      const key = keyOf(op, dtype);
      offers.set(key, [...(offers.get(key) ?? []), { id: `cpu:${kernel}-${isa}`, kernel, isa, variant, name }]);
    }
  }
  return offers;
}

const keyOf = (op: Call['op'], dtype: DType): string => `${op} ${dtype}`;

function offersFor(call: Call): readonly Offer[] {
  const offers = state().offers.get(keyOf(call.op, call.dtype)) ?? [];
  return call.op === 'conv2d' ? offers.filter(({ kernel }) => computes(kernel, call)) : offers;
}

function computes(kernel: Kernel, call: Conv2dCall): boolean {
  if (kernel === 'depthwise') return isDepthwise(call);
  if (kernel === 'winograd') return isWinograd(call);
  if (kernel === 'winograd4') return isWinograd(call) && call.precision === 'fast';
  return true;
}

/** 3×3 taps side by side, every pixel. */
function isWinograd({ C, KH, KW, strideH, strideW, dilationH, dilationW }: Conv2dCall): boolean {
  const steps = strideH === 1 && strideW === 1 && dilationH === 1 && dilationW === 1;
  return C > 0 && KH === 3 && KW === 3 && steps;
}

/** What the direct kernel does: one input channel per group, and with interleaved channels one output channel too. */
function isDepthwise({ C, O, KH, KW, groups, layout }: Conv2dCall): boolean {
  const small = KH <= MOST_DIRECT_TAPS && KW <= MOST_DIRECT_TAPS;
  return C > 0 && groups === C && (layout === 'nchw' || O === C) && small;
}

function pathsOf(call: Call): readonly Path[] {
  const { threads, paths } = state();
  let offered = paths.get(call);
  if (!offered) {
    const work = workOf(call);
    offered = offersFor(call).map(({ id, kernel, isa, name }) => ({
      id,
      backend: 'cpu',
      seconds: secondsOf(call, work, kernel, isa, threads),
      source: 'estimate',
      inline: kernel === 'relu' || secondsOf(call, work, kernel, isa, 1) < INLINE_SECONDS,
      isa,
      kernel: name,
    }));
    paths.set(call, offered);
  }
  return offered;
}

/** The kernel behind a path, and how to call it once the weight's panels, if any, are there. */
function bind(path: Path, call: Call, { inputs: [x, w], bias, out }: Operands) {
  const { addon, threads } = state();
  const offer = offersFor(call).find(({ id }) => id === path.id);
  if (!addon || offer === undefined) {
    throw new UhopError('E_BACKEND_UNAVAILABLE', `${path.id} does not compute ${call.dtype} ${call.op} here`);
  }
  const { variant, name } = offer;
  // Made anew for each use: the shape's numbers are valid until the next shape's.
  const bound = (): Bound => [variant, threads, shapeNumbers(call), x!, w, bias, out];
  return { addon, packer: { addon, variant, name, threads }, bound };
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
  const { addon, packer, bound } = bind(path, call, operands);
  const { weight } = operands;
  const panels = weight && native(call, path, () => weightPanelsSync(packer, call, weight));
  native(call, path, () => addon.runSync(...bound(), panels));
}

function aborted(call: Call, signal: AbortSignal): UhopError {
  return new UhopError('E_ABORTED', `${call.op} was aborted`, {}, signal.reason);
}

async function run(path: Path, call: Call, operands: Operands, { signal }: RunContext): Promise<void> {
  if (signal?.aborted) throw aborted(call, signal);
  if (path.inline) return runSync(path, call, operands);
  const { addon, packer, bound } = bind(path, call, operands);
  const { weight } = operands;
  const packed = weight && (await weightPanels(packer, call, weight));
  if (signal?.aborted) throw aborted(call, signal);
  return new Promise((resolve, reject) => {
    const done = (outcome: number): void => {
      stopListening?.();
      if (outcome === 0) resolve();
      else reject(outcome === 1 && signal ? aborted(call, signal) : outOfMemory(call, path));
    };
    const ticket = native(call, path, () => addon.run(...bound(), packed, done));
    const stopListening = signal && onAbort(signal, () => addon.cancel(ticket));
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
