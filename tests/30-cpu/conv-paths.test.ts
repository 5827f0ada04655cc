import { type Conv2dOptions, conv2dSync, devices, explain, tensor } from 'uhop';
import { describe, expect, it } from 'vitest';
import type { Conv2dCall, TensorData } from '../../backends/contract.ts';
import { guarded } from '../support/guarded.ts';
import { addon, conv2dCall } from '../support/native.ts';
import { generator, integers } from '../support/random.ts';
import { conv2dExpected } from '../support/reference.ts';
import { elements, made } from '../support/tensors.ts';

const DTYPES = ['f32', 'f32', 'f32', 'f64', 'f16', 'bf16'] as const;

/** Random small convolutions of every kind; integers, so that every sum is exact. */
function someCall(next: () => number): Conv2dCall {
  const pick = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const depthwise = next() < 0.4;
  const share = depthwise ? 1 : pick(1, 6);
  const groups = depthwise && next() < 0.5 ? pick(15, 36) : pick(1, 4);
  // Square kernels of 3 and 5 with stride 1 or 2 have loops of their own.
  const square = next() < 0.6;
  const [side, stride] = [next() < 0.7 ? 3 : 5, next() < 0.7 ? 1 : 2];
  const extents = {
    ...{ C: groups * share, O: groups * (depthwise ? pick(1, 2) : pick(1, 5)) },
    ...{ KH: square ? side : pick(1, 4), KW: square ? side : pick(1, 4), H: pick(7, 20), W: pick(7, 67) },
  };
  const steps = { strideH: pick(1, 3), strideW: pick(1, 3), dilationH: pick(1, 2), dilationW: pick(1, 2) };
  return conv2dCall(extents, {
    ...{ groups, batch: pick(1, 2), layout: next() < 0.5 ? 'nchw' : 'nhwc', dtype: DTYPES[pick(0, 5)]! },
    ...(square ? { strideH: stride, strideW: stride } : steps),
    ...{ padTop: pick(0, 3), padLeft: pick(0, 3), padBottom: pick(0, 3), padRight: pick(0, 3) },
    ...{ bias: next() < 0.5, activation: next() < 0.5 ? 'relu' : 'none' },
  });
}

/** The public options and shapes of a call. */
function asked(call: Conv2dCall): { x: number[]; w: number[]; options: Conv2dOptions } {
  const { batch, C, H, W, O, KH, KW, groups, layout, dtype } = call;
  const planar = layout === 'nchw';
  return {
    x: planar ? [batch, C, H, W] : [batch, H, W, C],
    w: planar ? [O, C / groups, KH, KW] : [KH, KW, C / groups, O],
    options: {
      ...{ groups, layout, activation: call.activation },
      stride: [call.strideH, call.strideW],
      dilation: [call.dilationH, call.dilationW],
      padding: [call.padTop, call.padLeft, call.padBottom, call.padRight],
      ...(call.bias ? { bias: made(new Float32Array(O), [O], dtype) } : {}),
    },
  };
}

async function cpuPaths(call: Conv2dCall): Promise<readonly string[]> {
  const { x, w, options } = asked(call);
  const { ranking } = await explain('conv2d', [x, w], { ...options, dtype: call.dtype });
  return ranking.map(({ path }) => path).filter((path) => path.startsWith('cpu:'));
}

/** What its definition gives for these inputs. */
function expectedOf(call: Conv2dCall, [x, w, bias]: readonly Float64Array[]): TensorData {
  const shapes = asked(call);
  const { padTop, padLeft, padBottom, padRight } = call;
  const padding = [padTop, padLeft, padBottom, padRight] as const;
  const options = { ...shapes.options, padding, bias: bias && tensor(bias, [call.O]) };
  const { value } = conv2dExpected(tensor(x!, shapes.x), tensor(w!, shapes.w), options);
  return elements(value, call.dtype);
}

function runGuarded(
  backend: string,
  call: Conv2dCall,
  numbers: readonly Float64Array[],
  expected: TensorData,
  offset: number,
): string {
  const { dtype, outShape } = call;
  const length = outShape.reduce((n, extent) => n * extent, 1);
  const all = [...numbers.map(({ length: count }) => count), length].map((count) => guarded(dtype, count, offset));
  numbers.forEach((values, at) => all[at]!.data.set(elements(values, dtype)));
  const [x, w, added] = numbers.map((_, at) => all[at]!.data) as [TensorData, TensorData, TensorData | undefined];
  const out = all.at(-1)!.data;
  const shapes = asked(call);
  const options = {
    ...shapes.options,
    ...{ backend, out: tensor(out, outShape, dtype) },
    ...(added ? { bias: tensor(added, [call.O], dtype) } : {}),
  };
  const { path } = conv2dSync(tensor(x, shapes.x, dtype), tensor(w, shapes.w, dtype), options);
  const wrong = out.findIndex((y, at) => y !== expected[at]);
  const told = `${path} ${JSON.stringify(call)}`;
  if (path !== backend) return `${told}: ${backend} was asked for`;
  if (wrong >= 0) return `${told}: element ${wrong} is ${out[wrong]}, not ${expected[wrong]}`;
  return all.every((one) => one.intact()) ? '' : `${told}: wrote outside`;
}

async function cpuFeatures(): Promise<readonly string[]> {
  return (await devices()).find(({ id }) => id === 'cpu')!.features;
}

describe('conv2d on every path', () => {
  it('agrees with the definition on random convolutions of every kind', async () => {
    const next = generator(31);
    const seen = new Set<string>();
    const faults: string[] = [];
    for (let round = 0; round < 250; round++) {
      const call = someCall(next);
      const weights = call.O * (call.C / call.groups) * call.KH * call.KW;
      const numbers = [integers(call.batch * call.C * call.H * call.W, round), integers(weights, round + 1)];
      if (call.bias) numbers.push(integers(call.O, round + 2));
      const expected = expectedOf(call, numbers);
      for (const path of await cpuPaths(call)) {
        seen.add(path);
        faults.push(runGuarded(path, call, numbers, expected, round % 16));
      }
    }
    expect(faults.filter((fault) => fault !== '')).toEqual([]);
    const isas = await cpuFeatures();
    const kernels = ['conv', 'depthwise', 'winograd'];
    expect([...seen].toSorted()).toEqual(
      isas.flatMap((isa) => kernels.map((kernel) => `cpu:${kernel}-${isa}`)).toSorted(),
    );
  });

  it('runs every depthwise variant that this machine has', async () => {
    const here = addon().variants.filter(({ op, runsHere }) => op === 'depthwise' && runsHere);
    const isas = await cpuFeatures();
    expect(here.map(({ dtype, isa }) => `${isa} ${dtype}`).toSorted()).toEqual(
      isas.flatMap((isa) => ['f32', 'f64', 'f16', 'bf16'].map((dtype) => `${isa} ${dtype}`)).toSorted(),
    );
  });

  it('multiplies the zeros of the padding: an infinite weight over the border gives NaN on each path alike', async () => {
    const call = conv2dCall({ C: 1, H: 3, W: 3, O: 1, KH: 1, KW: 2 }, { padLeft: 1 });
    const inf = Number.POSITIVE_INFINITY;
    const x = tensor(new Float32Array(9).fill(1), [1, 1, 3, 3]);
    const w = tensor(Float32Array.of(inf, 0), [1, 1, 1, 2]);
    for (const backend of [...(await cpuPaths(call)), 'naive:js']) {
      const { data } = conv2dSync(x, w, { backend, padding: [0, 1, 0, 0] });
      expect([...data.subarray(0, 3)], backend).toEqual([Number.NaN, inf, inf]);
    }
  });
});
