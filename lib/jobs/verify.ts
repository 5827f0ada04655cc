/** Verification by computing a tile a second time, on another path where there is one. */
import type { Call, Tensor } from '../../backends/contract.ts';
import { decodeHalf } from '../../backends/half.ts';
import { runtime } from '../dispatch/registry.ts';
import { offered } from '../dispatch/select.ts';
import { isWithin, tolerance } from '../ops/tolerance.ts';
import { bytesOf, compute } from './compute.ts';
import type { LoadedTile } from './loader.ts';
import { callOf } from './paths.ts';

/** The id of a path to check `path` with: of another backend if possible, else another path, else itself. */
export function secondPath(call: Call, { work }: LoadedTile, path: string): string {
  const others = offered(runtime.backends, callOf(call, work)).filter((candidate) => candidate.path.id !== path);
  const [backend] = path.split(':');
  return (others.find((candidate) => candidate.path.backend !== backend) ?? others[0])?.path.id ?? path;
}

/**
 * Whether two computations of a tile agree: bit for bit, or each within the op's tolerance of the exact value.
 * The scale |A|·|B| + |bias| of that tolerance is computed only when the bits differ.
 */
export async function agree(
  call: Call,
  loaded: LoadedTile,
  [one, other]: readonly [Tensor, Tensor],
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (Buffer.compare(bytesOf(one), bytesOf(other)) === 0) return true;
  const scale = numbers(await magnitude(call, loaded, path, signal));
  const bound = tolerance(callOf(call, loaded.work));
  const twice = { ...bound, c: 2 * bound.c, floor: 2 * bound.floor };
  const [left, right] = [numbers(one), numbers(other)];
  for (let i = 0; i < left.length; i++) {
    // The scale is itself rounded, by at most the bound it is used in.
    const widened = (scale[i] as number) * (1 + twice.c * twice.epsilon) + twice.floor;
    if (!isWithin(twice, left[i] as number, right[i] as number, widened)) return false;
  }
  return true;
}

/** |A|·|B| + |bias| of every element; relu, which is exact, has no use for it. */
async function magnitude(call: Call, loaded: LoadedTile, path: string, signal: AbortSignal): Promise<Tensor> {
  if (call.op === 'relu') return loaded.inputs[0] as Tensor;
  const work = { ...loaded.work, options: { ...loaded.work.options, activation: 'none' } };
  return compute(
    call.op,
    { work, inputs: loaded.inputs.map(absolute), bias: loaded.bias && absolute(loaded.bias) },
    path,
    signal,
  );
}

function absolute(tensor: Tensor): Tensor {
  const { data } = tensor;
  return { ...tensor, data: data instanceof Uint16Array ? data.map((bits) => bits & 0x7fff) : data.map(Math.abs) };
}

function numbers({ data }: Tensor): Float32Array | Float64Array {
  return data instanceof Uint16Array ? decodeHalf(data, 'f16') : data;
}
