/**
 * TensorFlow.js on its WASM backend. Its convolutions know NHWC only: operands are brought there before the clock
 * starts, results back after it has stopped.
 */
import type { Conv2dCall } from '../../backends/contract.ts';
import { type Case, inputsOf } from '../cases.ts';
import type { Absent, Contender, Team } from './contender.ts';
import { local } from './local.ts';
import { optional } from './optional.ts';

interface TfTensor {
  readonly shape: number[];
  data(): Promise<Float32Array>;
  dispose(): void;
}

/** As much of the package as is used here. */
interface Tf {
  readonly version: { readonly tfjs: string };
  setBackend(name: string): Promise<boolean>;
  tensor(data: Float32Array, shape: readonly number[]): TfTensor;
  transpose(x: TfTensor, order: readonly number[]): TfTensor;
  reshape(x: TfTensor, shape: readonly number[]): TfTensor;
  matMul(a: TfTensor, b: TfTensor, transposeA: boolean, transposeB: boolean): TfTensor;
  conv2d(x: TfTensor, w: TfTensor, ...more: Window): TfTensor;
  depthwiseConv2d(x: TfTensor, w: TfTensor, ...more: Window): TfTensor;
  relu(x: TfTensor): TfTensor;
}

type Window = [strides: [number, number], pad: number, layout: 'NHWC', dilations: [number, number], rounding: 'floor'];

const NAME = 'tfjs-wasm';
const PACKAGES = ['@tensorflow/tfjs', '@tensorflow/tfjs-backend-wasm'];

export async function tfjs(): Promise<Team | Absent> {
  try {
    const [tf, wasm] = optional(PACKAGES, PACKAGES.join(' ')) as [Tf, { getThreadsCount(): number }];
    if (!(await tf.setBackend('wasm'))) return { name: NAME, reason: 'its WASM backend does not start' };
    const threads = wasm.getThreadsCount();
    return {
      name: NAME,
      role: 'floor',
      version: tf.version.tfjs,
      rate: 1.5e10,
      enter: async (one) => enter(tf, one, threads),
      close: async () => {},
    };
  } catch (error) {
    return { name: NAME, reason: (error as Error).message };
  }
}

function enter(tf: Tf, one: Case, threads: number): Contender | string {
  const { call } = one;
  if (one.has('in-place')) return 'nothing is in place there';
  const [x, w] = inputsOf(one).map((data, at) => tf.tensor(data, one.shapes[at]!)) as [TfTensor, TfTensor];
  if (call.op === 'conv2d') return convolution(tf, call, threads, [x, w]);
  const operands = w ? [x, w] : [x];
  if (call.op === 'relu') return contender(threads, 'relu', operands, () => tf.relu(x));
  return contender(threads, 'matMul', operands, () => tf.matMul(x, w, call.transposeA, call.transposeB));
}

function convolution(tf: Tf, call: Conv2dCall, threads: number, [x, w]: [TfTensor, TfTensor]): Contender | string {
  const { layout, strideH, strideW, padTop, padLeft, padBottom, padRight, groups, C, O, KH, KW } = call;
  const depthwise = groups === C && O === C;
  if (groups > 1 && !depthwise) return 'no groups there';
  if (new Set([padTop, padLeft, padBottom, padRight]).size > 1) return 'the same padding on every side only';
  const planar = layout === 'nchw';
  const pixels = planar ? tf.transpose(x, [0, 2, 3, 1]) : x;
  const taps = planar ? tf.transpose(w, [2, 3, 1, 0]) : w;
  const window: Window = [[strideH, strideW], padTop, 'NHWC', [1, 1], 'floor'];
  const back = (y: TfTensor): Promise<Float32Array> => (planar ? tf.transpose(y, [0, 3, 1, 2]) : y).data();
  const operands = [x, w, pixels, taps];
  if (!depthwise) return contender(threads, 'conv2d', operands, () => tf.conv2d(pixels, taps, ...window), back);
  const filters = tf.reshape(taps, [KH, KW, C, 1]);
  const compute = (): TfTensor => tf.depthwiseConv2d(pixels, filters, ...window);
  return contender(threads, 'depthwiseConv2d', [...operands, filters], compute, back);
}

/** A result is a new tensor each time; the one before is given back first. */
function contender(
  threads: number,
  note: string,
  operands: readonly TfTensor[],
  compute: () => TfTensor,
  numbers = (y: TfTensor): Promise<Float32Array> => y.data(),
): Contender {
  let y: TfTensor | undefined;
  const call = (): void => {
    y?.dispose();
    y = compute();
  };
  const close = (): void => new Set([...operands, y]).forEach((tensor) => tensor?.dispose());
  return local({ name: NAME, role: 'floor', note, threads, call, result: () => numbers(y!), close });
}
