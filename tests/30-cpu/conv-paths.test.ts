import { describe, expect, it } from 'vitest';
import type { Conv2dCall, Path } from '../../backends/contract.ts';
import { guarded } from '../support/guarded.ts';
import { convolution } from '../support/images.ts';
import { addon, conv2dCall, cpu, type Floats } from '../support/native.ts';
import { generator, integers } from '../support/random.ts';

/** Random small convolutions of every kind; integers, so that every path must be exact. */
function someCall(next: () => number): Conv2dCall {
  const pick = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const depthwise = next() < 0.4;
  const share = depthwise ? 1 : pick(1, 6);
  const groups = depthwise && next() < 0.5 ? pick(15, 36) : pick(1, 4);
  const extents = {
    ...{ C: groups * share, O: groups * (depthwise ? pick(1, 2) : pick(1, 5)), KH: pick(1, 4), KW: pick(1, 4) },
    ...{ H: pick(7, 20), W: pick(7, 45) },
  };
  return conv2dCall(extents, {
    ...{ groups, batch: pick(1, 2), layout: next() < 0.5 ? 'nchw' : 'nhwc', dtype: next() < 0.7 ? 'f32' : 'f64' },
    ...{ strideH: pick(1, 3), strideW: pick(1, 3), dilationH: pick(1, 2), dilationW: pick(1, 2) },
    ...{ padTop: pick(0, 3), padLeft: pick(0, 3), padBottom: pick(0, 3), padRight: pick(0, 3) },
    ...{ bias: next() < 0.5, activation: next() < 0.5 ? 'relu' : 'none' },
  });
}

function runGuarded(path: Path, call: Conv2dCall, numbers: readonly Float64Array[], offset: number): string {
  const length = call.outShape.reduce((n, extent) => n * extent, 1);
  const all = [...numbers.map(({ length: count }) => count), length].map((count) => guarded(call.dtype, count, offset));
  numbers.forEach((values, at) => all[at]!.data.set(values));
  const [x, w] = all.map(({ data }) => data as Floats) as [Floats, Floats];
  const bias = call.bias ? (all[2]!.data as Floats) : undefined;
  const out = all.at(-1)!.data as Floats;
  cpu.runSync(path, call, { inputs: [x, w], bias, out });
  const expected = convolution(call, x, w, bias);
  const wrong = out.findIndex((y, at) => y !== expected[at]);
  if (wrong >= 0)
    return `${path.id} ${JSON.stringify(call)}: element ${wrong} is ${out[wrong]}, not ${expected[wrong]}`;
  return all.every((one) => one.intact()) ? '' : `${path.id} ${JSON.stringify(call)}: wrote outside`;
}

describe('conv2d on every path', () => {
  it('agrees with the definition on random convolutions of every kind', () => {
    const next = generator(31);
    const seen = new Set<string>();
    const faults: string[] = [];
    for (let round = 0; round < 250; round++) {
      const call = someCall(next);
      const weights = call.O * (call.C / call.groups) * call.KH * call.KW;
      const numbers = [integers(call.batch * call.C * call.H * call.W, round), integers(weights, round + 1)];
      if (call.bias) numbers.push(integers(call.O, round + 2));
      for (const path of cpu.paths(call)) {
        seen.add(path.id);
        faults.push(runGuarded(path, call, numbers, round % 16));
      }
    }
    expect(faults.filter((fault) => fault !== '')).toEqual([]);
    const isas = cpu.probeSync()[0]!.features;
    expect([...seen].toSorted()).toEqual(isas.flatMap((isa) => [`cpu:conv-${isa}`, `cpu:depthwise-${isa}`]).toSorted());
  });

  it('runs every depthwise variant that this machine has', () => {
    const here = addon().variants.filter(({ op, runsHere }) => op === 'depthwise' && runsHere);
    const isas = cpu.probeSync()[0]!.features;
    expect(here.map(({ dtype, isa }) => `${isa} ${dtype}`).toSorted()).toEqual(
      isas.flatMap((isa) => [`${isa} f32`, `${isa} f64`]).toSorted(),
    );
  });

  it('multiplies the zeros of the padding: an infinite weight over the border gives NaN on each path alike', () => {
    const call = conv2dCall({ C: 1, H: 3, W: 3, O: 1, KH: 1, KW: 2 }, { padLeft: 1 });
    for (const path of cpu.paths(call)) {
      const out = new Float32Array(9);
      const w = Float32Array.of(Number.POSITIVE_INFINITY, 0);
      cpu.runSync(path, call, { inputs: [new Float32Array(9).fill(1), w], out });
      const inf = Number.POSITIVE_INFINITY;
      expect([...out.subarray(0, 3)], path.id).toEqual([Number.NaN, inf, inf]);
    }
  });
});
