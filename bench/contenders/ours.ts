/** The public calls, the way a user makes them: tensors in, a result that is there already as `out`. */
import { createRequire } from 'node:module';
import * as uhop from '../../lib/index.ts';
import { type Case, inputsOf, sizeOf } from '../cases.ts';
import { inPackage } from '../place.ts';
import type { Absent, Contender, Team } from './contender.ts';
import { local } from './local.ts';

/** Weights prepared ahead; not every version of the package has it. */
type Prepack = (weights: uhop.Tensor, options?: object) => uhop.Tensor;
const { prepack } = uhop as unknown as { readonly prepack?: Prepack };

export async function ours(threads: number): Promise<Team | Absent> {
  const { version } = createRequire(import.meta.url)(inPackage('package.json')) as { version: string };
  return { name: 'uhop', role: 'ours', version, enter: async (one) => enter(one, threads), close: async () => {} };
}

/** Why a suite of prepared weights cannot be; undefined when it can. */
export const noPrepack: string | undefined = prepack ? undefined : 'this version of the package exports no prepack()';

async function enter(one: Case, threads: number): Promise<Contender> {
  const inputs = inputsOf(one).map((data, at) => uhop.tensor(data, one.shapes[at]!));
  const [x, w] = inputs as [uhop.Tensor, uhop.Tensor];
  const weights = one.has('prepacked') ? prepack!(w) : w;
  const { outShape, op } = one.call;
  const out = one.has('in-place') ? x : uhop.tensor(new Float32Array(sizeOf(outShape)).fill(Number.NaN), outShape);
  const options = { ...one.options, out } as uhop.MatmulOptions & uhop.Conv2dOptions;
  const async = one.has('async');
  const calls = {
    matmul: () => (async ? uhop.matmul(x, weights, options) : uhop.matmulSync(x, weights, options)),
    conv2d: () => (async ? uhop.conv2d(x, weights, options) : uhop.conv2dSync(x, weights, options)),
    relu: () => (async ? uhop.relu(x, options) : uhop.reluSync(x, options)),
  };
  const call = calls[op];
  const { path } = await call();
  return local({ name: 'uhop', role: 'ours', note: path, threads, async, call, result: () => out.data });
}
