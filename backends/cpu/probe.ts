/** Built, present, usable: which instruction sets this process may use, and whether their kernels are right. */
import { cpus } from 'node:os';
import type { Device, Reason } from '../contract.ts';
import { type Addon, loadNative, target } from '../native.ts';
import { type Limits, limits } from '../limits.ts';

/** What the other files of this backend work with. */
export interface Cpu {
  readonly device: Device;
  /** Null unless the device is usable. */
  readonly addon: Addon | null;
  /** Usable and allowed instruction sets, the best first. */
  readonly isas: readonly string[];
  readonly threads: number;
}

/** As many as the addon's pool will start. */
const MOST_THREADS = 512;

export function examine(): Cpu {
  const allowed = limits();
  const disabled = (process.env.UHOP_DISABLE ?? '').split(',').some((name) => name.trim() === 'cpu');
  if (disabled) {
    const message = 'the cpu backend is switched off by UHOP_DISABLE';
    return unusable(allowed, false, { code: 'disabled', message, hint: 'Remove cpu from UHOP_DISABLE.' });
  }
  const { addon, tried } = loadNative();
  if (!addon) return unusable(allowed, false, missing(tried));

  const asked = process.env.UHOP_THREADS;
  const threads = asked ? Number(asked) : Math.min(allowed.threads, MOST_THREADS);
  if (!Number.isInteger(threads) || threads < 1 || threads > MOST_THREADS) {
    const message = `UHOP_THREADS is '${asked}', which is not an integer from 1 to ${MOST_THREADS}`;
    return unusable(allowed, true, { code: 'disabled', message, hint: 'Set it to a number of threads or remove it.' });
  }
  const here = [...new Set(addon.variants.filter((variant) => variant.runsHere).map((variant) => variant.isa))];
  const forced = process.env.UHOP_ISA;
  const isas = here.filter((isa) => !forced || isa === forced);
  if (isas.length === 0) {
    const message = `UHOP_ISA asks for '${forced}'; this machine and this build have ${here.join(', ')}`;
    return unusable(allowed, true, { code: 'arch-mismatch', message, hint: `Set it to ${here.join(' or ')}.` });
  }
  const right = isas.filter((isa) => gemmIsRight(addon, isa, threads));
  if (right.length === 0) {
    const message = `the self-test of ${isas.join(', ')} gave a wrong product`;
    return unusable(allowed, true, { code: 'crashed', message, hint: 'Rebuild the addon with `npx uhop build`.' });
  }
  return { device: describe({ ...allowed, threads }, right), addon, isas: right, threads };
}

function missing(tried: readonly { path: string; error: string }[]): Reason {
  const list = tried.map(({ path, error }) => `${path} (${error})`).join('; ');
  return {
    code: 'library-missing',
    message: `the native addon could not be loaded on ${target()}; tried ${list}`,
    hint: 'Compile it with `npx uhop build`.',
  };
}

const identity = () => ({ id: 'cpu', backend: 'cpu', name: cpus()[0]?.model.trim() || process.arch });

function describe({ threads, memoryBytes }: Limits, features: readonly string[]): Device {
  const versions = { node: process.versions.node };
  return { ...identity(), built: true, present: true, usable: true, features, memoryBytes, threads, versions };
}

function unusable({ threads, memoryBytes }: Limits, built: boolean, reason: Reason): Cpu {
  const facts = { built, present: built && reason.code !== 'arch-mismatch', usable: false };
  const device: Device = { ...identity(), ...facts, features: [], memoryBytes, threads, versions: {}, reason };
  return { device, addon: null, isas: [], threads };
}

/** relu(A·B + 1) with small integers, which f32 holds exactly, over more than one tile in each direction. */
function gemmIsRight(addon: Addon, isa: string, threads: number): boolean {
  const [M, N, K] = [17, 35, 9];
  const variant = addon.variants.findIndex((one) => one.op === 'gemm' && one.dtype === 'f32' && one.isa === isa);
  const a = Float32Array.from({ length: M * K }, (_, i) => ((i * 7) % 11) - 5);
  const b = Float32Array.from({ length: K * N }, (_, i) => ((i * 5) % 13) - 6);
  const out = new Float32Array(M * N).fill(Number.NaN);
  addon.runSync(variant, threads, Float64Array.of(0, M, N, K, 0, 0, 2, 1, 0), a, b, Float32Array.of(1), out);
  return out.every((value, at) => {
    let sum = 1;
    for (let k = 0; k < K; k++) sum += a[Math.floor(at / N) * K + k]! * b[k * N + (at % N)]!;
    return value === Math.max(sum, 0);
  });
}
