/** Which path computes the tiles of a job. One path computes all of them: paths may differ in the last bits. */
import { type Call, type Device, UhopError } from '../../backends/contract.ts';
import { limits } from '../../backends/limits.ts';
import { devices } from '../dispatch/explain.ts';
import { runtime } from '../dispatch/registry.ts';
import type { Candidate } from '../dispatch/runtime.ts';
import { forcedBy, isForced, offered, select } from '../dispatch/select.ts';
import { opNamed } from '../ops/index.ts';
import { elements } from './box.ts';
import { identityOf } from './chain.ts';
import { JobError } from './errors.ts';
import { type TileCall, tileCall } from './operands.ts';
import { footprint } from './size.ts';
import type { Numerics, Provenance, TilePlan, TileSize } from './types.ts';
import { PACKAGE_VERSION } from './version.ts';

/** What a worker needs to know of a job to tell whether it can do it. */
export interface PathRequest {
  readonly call: Call;
  readonly plan: TilePlan;
  readonly tile: TileSize;
  readonly numerics: Numerics;
  /** Where the tiles that are there come from; null when there are none. */
  readonly begun: Provenance | null;
  /** A backend or path id that somebody insists on. */
  readonly backend?: string | undefined;
}

/** A path with the device it runs on. */
export interface JobPath extends Candidate {
  readonly device: Device | null;
}

/**
 * The path of a job on this machine: the one that began, else the one expected to be done first that is on offer for every
 * kind of tile. Throws `E_BACKEND_UNAVAILABLE` when there is none, `E_NUMERICS` when the job is exact and began on another,
 * `E_OUT_OF_MEMORY` when its tiles do not fit this machine.
 */
export async function choosePath(request: PathRequest): Promise<JobPath> {
  const { call, plan, tile, numerics, begun } = request;
  assertFits(footprint(call, tile));
  const forced = forcedBy(request.backend);
  const kinds = tileKinds(call, plan);
  // With nothing to compute there is nothing to choose between; a forced backend must be there all the same.
  const [first = call, ...others] = kinds;
  const best = select(runtime, runtime.backends, first, forced)[0];
  const candidates = offered(runtime.backends, first)
    .filter((candidate) => forced === undefined || isForced(candidate, forced))
    .filter(({ path }) =>
      others.every((kind) => offered(runtime.backends, kind).some((one) => one.path.id === path.id)),
    );
  const same = begun === null ? undefined : candidates.find((candidate) => isSame(candidate, begun));
  if (numerics === 'exact' && begun !== null && same === undefined) throw differs(begun, candidates);
  const chosen = same ?? candidates.find(({ path }) => path.id === best.path.id) ?? candidates[0];
  if (chosen === undefined) {
    throw new UhopError(
      'E_BACKEND_UNAVAILABLE',
      `no one path is on offer for all tiles of this ${call.op}; choose another tile size`,
    );
  }
  const device = (await chosen.backend.probe()).find(({ usable }) => usable) ?? null;
  return { ...chosen, device };
}

/** Throws `E_BACKEND_UNAVAILABLE`, with the probe's reason, when a forced backend has no usable device. */
export async function assertUsable(backend: string | undefined): Promise<void> {
  const forced = forcedBy(backend);
  if (forced === undefined) return;
  const found = (await devices()).filter((device) => device.backend === forced.id.split(':')[0]);
  if (found.some(({ usable }) => usable)) return;
  const reason = found.find((device) => device.reason)?.reason;
  throw new UhopError(
    'E_BACKEND_UNAVAILABLE',
    `'${forced.id}', which ${forced.by} asks for, is not there: ${reason?.message ?? 'there is no such backend'}`,
    { forced: forced.id, ...(reason && { reason, hint: reason.hint }) },
  );
}

/** Seconds that the whole call is expected to take here. */
export function expectedSeconds(call: Call): number {
  return select(runtime, runtime.backends, call, forcedBy(undefined))[0].path.seconds;
}

/** A tile's computation as a call of the op. */
export function callOf(call: Call, { inputs, bias, options }: TileCall): Call {
  const shapes = inputs.map(({ shape }) => shape);
  return opNamed(call.op).describe(shapes, call.dtype, { ...options, bias: bias?.shape }).call;
}

/** The calls of the tiles at the corners of the grid: every shape a tile can have is among them, halos apart. */
function tileKinds(call: Call, plan: TilePlan): readonly Call[] {
  if (plan.tiles === 0) return [];
  const strides = plan.grid.map((_, axis) => elements(plan.grid.slice(axis + 1)));
  const corners = strides.reduce(
    (found, stride, axis) => found.flatMap((at) => [at, at + stride * ((plan.grid[axis] as number) - 1)]),
    [0],
  );
  return [...new Set(corners)].map((index) => callOf(call, tileCall(call, plan.tile(index))));
}

function isSame({ path }: Candidate, begun: Provenance): boolean {
  return (
    path.id === begun.path &&
    (path.isa ?? null) === begun.isa &&
    (path.kernel ?? null) === begun.kernel &&
    begun.version === PACKAGE_VERSION
  );
}

function differs(begun: Provenance, candidates: readonly Candidate[]): JobError {
  const here = candidates.map(({ path }) => path.id).join(', ') || 'none';
  return new JobError(
    'E_NUMERICS',
    `the job is exact and began on ${identityOf(begun)}; paths on offer here in version ${PACKAGE_VERSION}: ${here}. Run it where that path is, or submit it with numerics 'tolerant'`,
    { begun },
  );
}

function assertFits(bytes: number): void {
  const limit = limits().memoryBytes;
  if (bytes <= limit) return;
  throw new UhopError(
    'E_OUT_OF_MEMORY',
    `one tile needs ${bytes} bytes, this process may use ${limit}; submit the job with a smaller tile`,
  );
}
