import {
  type ExplainOptions,
  type MatmulOptions,
  type Conv2dOptions,
  type ReluOptions,
  type ResultTensor,
  type Tensor,
  conv2d,
  conv2dSync,
  devices,
  explain,
  matmul,
  matmulSync,
  relu,
  reluSync,
} from 'uhop';
import { expect } from 'vitest';

export type OpName = 'matmul' | 'conv2d' | 'relu';
export type Options = MatmulOptions & Conv2dOptions & ReluOptions;

const SYNC = { matmul: matmulSync, conv2d: conv2dSync, relu: reluSync };
const ASYNC = { matmul, conv2d, relu };

type AnyOp<R> = (...args: readonly unknown[]) => R;

export function callSync(op: OpName, inputs: readonly Tensor[], options: Options = {}): ResultTensor {
  return (SYNC[op] as AnyOp<ResultTensor>)(...inputs, options);
}

export function callAsync(op: OpName, inputs: readonly Tensor[], options: Options = {}): Promise<ResultTensor> {
  return (ASYNC[op] as AnyOp<Promise<ResultTensor>>)(...inputs, options);
}

/** The instruction sets that the addon has paths for: without it, "every path" would be the naive one alone. */
const { features: isas } = (await devices()).find(({ id }) => id === 'cpu')!;

/** The ids of every path on offer for this very call: the naive one, and one at least of each instruction set. */
export async function pathsOf(
  op: OpName,
  inputs: readonly Tensor[],
  options: Options = {},
): Promise<readonly string[]> {
  const { out: _out, backend: _backend, signal: _signal, borrow: _borrow, ...described } = options;
  const { ranking } = await explain(op, inputs, described as ExplainOptions);
  const paths = ranking.map(({ path }) => path);
  const offered = new Set(paths.map((path) => path.split(/[:-]/).at(-1)));
  expect([...offered].toSorted()).toEqual(['js', ...isas].toSorted());
  return paths;
}

/** Runs a call on every path, inside the call and beside the event loop, and hands each result to `check`. */
export async function onEveryPath(
  op: OpName,
  inputs: readonly Tensor[],
  options: Options,
  check: (result: ResultTensor) => void,
): Promise<void> {
  for (const backend of await pathsOf(op, inputs, options)) {
    const inside = callSync(op, inputs, { ...options, backend });
    judged(`${op}Sync`, inputs, inside, backend, check);
    const beside = await callAsync(op, inputs, { ...options, backend });
    judged(op, inputs, beside, backend, check);
  }
}

/** Says of which call on which path a failed check was. */
function judged(
  name: string,
  inputs: readonly Tensor[],
  result: ResultTensor,
  path: string,
  check: (result: ResultTensor) => void,
): void {
  expect(result.path).toBe(path);
  try {
    check(result);
  } catch (error) {
    const shapes = inputs.map(({ shape }) => `[${shape.join(', ')}]`).join(' x ');
    if (error instanceof Error) error.message = `${name} ${shapes} on ${path}: ${error.message}`;
    throw error;
  }
}
