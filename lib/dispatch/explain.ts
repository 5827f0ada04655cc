import type { Call, Device, Path, Reason, ReasonCode } from '../../backends/contract.ts';
import { checkBoolean, checkOptionNames } from '../ops/arguments.ts';
import { type DescribeOptions, describeCall, type ShapeOrTensor } from '../ops/plan.ts';
import { runtime } from './registry.ts';
import type { Candidate } from './runtime.ts';
import { type Forced, forcedBy, isForced, isRetired, offered, select } from './select.ts';

export interface RankedPath {
  readonly path: string;
  /** The kernel's name, which is its specification; absent where the backend does not say. */
  readonly kernel?: string | undefined;
  /** Expected time, transfers included. */
  readonly seconds: number;
  /** Where that number comes from. */
  readonly source: Path['source'];
  /** True for the one path that would run. */
  readonly chosen: boolean;
  readonly why: string;
}

export interface PassedOver {
  readonly backend: string;
  readonly reason: Omit<Reason, 'code'> & { readonly code: ReasonCode | 'no-path' };
}

export interface Explanation {
  readonly op: Call['op'];
  readonly call: Call;
  /** Every path on offer, the one that would run first, the others by expected time. */
  readonly ranking: readonly RankedPath[];
  /** Every backend that has no path for this call. */
  readonly passedOver: readonly PassedOver[];
}

export interface ExplainOptions extends DescribeOptions {
  readonly backend?: string | undefined;
}

/**
 * Which path an op with these operands (tensors, or only their shapes) would take, and why not the others, e.g.
 * `await explain('matmul', [[1024, 512], [512, 2048]])`. Rejects as the op itself would.
 */
export async function explain(
  op: Call['op'],
  inputs: readonly ShapeOrTensor[],
  options: ExplainOptions = {},
): Promise<Explanation> {
  const call = describeCall('explain', op, inputs, options, ['backend']);
  const forced = forcedBy(options.backend);
  const [chosen] = select(runtime, runtime.backends, call, forced);
  const others = offered(runtime.backends, call).filter(({ path }) => path.id !== chosen.path.id);
  const ranking = [chosen, ...others].map((candidate) => ({
    path: candidate.path.id,
    kernel: candidate.path.kernel,
    seconds: candidate.path.seconds,
    source: candidate.path.source,
    chosen: candidate.path.id === chosen.path.id,
    why: why(candidate, chosen, forced),
  }));
  return { op: call.op, call, ranking, passedOver: await passedOver(call) };
}

/** Everything that could compute here, usable or not, each `false` with its reason. */
export async function devices(options: { readonly refresh?: boolean | undefined } = {}): Promise<readonly Device[]> {
  checkOptionNames('devices', options, ['refresh']);
  const refresh = checkBoolean(options.refresh, 'devices: refresh');
  const found = await Promise.all(runtime.backends.map((backend) => backend.probe(refresh)));
  return found.flat();
}

function why(candidate: Candidate, chosen: Candidate, forced: Forced | undefined): string {
  if (forced && !isForced(candidate, forced)) return `not '${forced.id}', which ${forced.by} asks for`;
  if (isRetired(runtime, candidate.path.id)) return 'it failed a short while ago';
  if (candidate.path.id === chosen.path.id) return forced ? `${forced.by} asks for it` : 'the least expected time';
  const ratio = candidate.path.seconds / chosen.path.seconds;
  return `expected to take ${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio)} times as long`;
}

async function passedOver(call: Call): Promise<readonly PassedOver[]> {
  const idle = runtime.backends.filter((backend) => backend.paths(call).length === 0);
  return Promise.all(
    idle.map(async (backend) => {
      const found = await backend.probe();
      const reason = found.some(({ usable }) => usable) ? undefined : found.find((device) => device.reason)?.reason;
      return { backend: backend.id, reason: reason ?? noPath(call) };
    }),
  );
}

function noPath(call: Call): PassedOver['reason'] {
  return {
    code: 'no-path',
    message: `it has no ${call.dtype} ${call.op} of this kind`,
    hint: 'another dtype or precision may have one',
  };
}
