/**
 * Finds and loads the addon, once, on first use. Order: `UHOP_NATIVE_PATH`, the developer's build, a prebuilt file; a path
 * that is given is the only one tried. Nothing here throws; what went wrong is collected instead.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { arch, env, platform, report } from 'node:process';
import { fileURLToPath } from 'node:url';
import type { TensorData } from './contract.ts';

export interface Variant {
  readonly name: string;
  readonly op: 'gemm' | 'depthwise' | 'winograd2' | 'winograd4' | 'relu' | 'widen' | 'narrow';
  readonly dtype: 'f32' | 'f64' | 'f16' | 'bf16';
  readonly isa: string;
  readonly runsHere: boolean;
  /** Tile and contracted block of a gemm. */
  readonly MR?: number;
  readonly NR?: number;
  readonly KC?: number;
}

export type Bound = [
  variant: number,
  threads: number,
  shape: Float64Array,
  x: TensorData,
  w: TensorData | undefined,
  bias: TensorData | undefined,
  out: TensorData,
];

export interface Addon {
  /** Every line of `kernels/cpu/variants.inc` in this build; the index is the handle of a variant. */
  readonly variants: readonly Variant[];
  runSync(...call: [...Bound, prepacked?: TensorData | undefined]): void;
  /** Returns a ticket; `done` gets 0 (completed), 1 (cancelled) or 2 (out of memory). */
  run(...call: [...Bound, prepacked: TensorData | undefined, done: (outcome: number) => void]): number;
  cancel(ticket: number): void;
  /** Elements that packing the w of such a call gives; 0 when the call has no use for it. */
  prepackedLength(variant: number, shape: Float64Array): number;
}

export interface Loaded {
  readonly addon: Addon | null;
  readonly path: string | null;
  /** Why each file that was tried did not load. */
  readonly tried: readonly { readonly path: string; readonly error: string }[];
}

let loaded: Loaded | undefined;

export function loadNative(): Loaded {
  loaded ??= load();
  return loaded;
}

/** `linux-x64`, `linuxmusl-arm64`, …: what a prebuilt file is named after. */
export function target(): string {
  return `${platform}${isMusl() ? 'musl' : ''}-${arch}`;
}

/** The folder of package.json: above backends/ or above dist/backends/. */
function packageRoot(): string {
  const up = join(dirname(fileURLToPath(import.meta.url)), '..');
  return existsSync(join(up, 'package.json')) ? up : join(up, '..');
}

function* places(): Generator<string> {
  if (env.UHOP_NATIVE_PATH) return yield env.UHOP_NATIVE_PATH;
  yield join(packageRoot(), 'build', 'Release', 'uhop.node');
  yield join(packageRoot(), 'prebuilds', `${target()}.node`);
}

function load(): Loaded {
  const tried: { path: string; error: string }[] = [];
  for (const path of places()) {
    try {
      return { addon: createRequire(import.meta.url)(path) as Addon, path, tried };
    } catch (error) {
      tried.push({ path, error: existsSync(path) ? (error as Error).message : 'no such file' });
    }
  }
  return { addon: null, path: null, tried };
}

function isMusl(): boolean {
  if (platform !== 'linux') return false;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}
