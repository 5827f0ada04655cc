import { type ResultTensor, tensor } from 'uhop';
import type { Contender } from '../../bench/contenders/contender.ts';
import { afterAll, describe, expect, it } from 'vitest';
import { cases, checks, local, shapes, start, Teams } from '../support/bench.ts';
import type { Options } from '../support/paths.ts';
import { conv2dExpected, matmulExpected } from '../support/reference.ts';

const TINY = [
  'matmul 5x7 7x9',
  'matmul 7x5 7x9 transposeA',
  'matmul 5x7 9x7 transposeB',
  'matmul 7x5 9x7 transposeA transposeB',
  'matmul 1x7 7x9',
  'matmul 1x7 9x7 transposeB',
  'matmul 7x1 7x9 transposeA',
  'matmul 5x7 7x1',
  'matmul 7x5 7x1 transposeA',
  'matmul 3x5x7 3x7x9',
  'matmul 3x5x7 7x9',
  'matmul 5x7 7x9 async',
  'conv2d 2x6x9x8 4x6x3x3 pad=1',
  'conv2d 1x6x9x8 4x3x3x3 stride=2 pad=1 groups=2',
  'conv2d 1x6x9x8 6x1x3x3 pad=1 groups=6',
  'conv2d 2x9x8x6 3x3x6x4 pad=1 nhwc',
  'conv2d 1x9x8x6 3x3x1x6 stride=2 groups=6 nhwc',
  'relu 1000',
  'relu 1000 in-place',
];
const NAMES = ['uhop', 'uhop-c++', 'onnxruntime', 'openblas', 'onednn', 'onednn-blocked', 'tfjs-wasm', 'stdlib-blas'];
const ALL = [...NAMES, 'plain-c++', 'plain-js'];

const teams = new Teams(2);
const tiny = shapes.parseShapes(TINY.join('\n'), 'tiny').map(cases.caseOf);
afterAll(() => teams.close());

describe('a contender', () => {
  it.for(ALL)('%s computes what the call means', async (name, { skip }) => {
    const team = await teams.get(name);
    if ('reason' in team) return skip(team.reason);
    let entered = 0;
    for (const one of tiny) {
      const contender = await team.enter(one);
      if (typeof contender === 'string') continue;
      const numbers = await contender.sample(1);
      await contender.close();
      expect(checks.difference(one, expected(one), numbers!), `${one.label} by ${name}`).toBeUndefined();
      entered += 1;
    }
    expect(entered).toBeGreaterThan(4);
  });

  it.for(['uhop', 'plain-c++', 'empty-call', 'fma'])('%s takes turns and gives seconds', async (name, { skip }) => {
    const team = await teams.get(name);
    if ('reason' in team) return skip(team.reason);
    const contender = (await team.enter(tiny[0]!)) as Contender;
    for (const _ of [1, 2]) {
      const seconds = await contender.turn({ warm: 1e-4, timed: 1e-3 });
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThan(60);
    }
  });

  it('whose program ends by itself is an error, not a wait', async () => {
    await expect(start('/bin/true')).rejects.toThrow('/bin/true ended before it answered');
    await expect(start('/nowhere/at/all')).rejects.toThrow('/nowhere/at/all ended before it answered');
  });

  it('that is awaited is timed to its end, and an error of its call is one of the turn', async () => {
    const one = { name: 'one', role: 'ours', note: '', threads: 1, result: () => null } as const;
    const turn = { warm: 0, timed: 1e-3 };
    const slow = local({ ...one, async: true, call: () => new Promise((resolve) => setTimeout(resolve, 20)) });
    expect(await slow.turn(turn)).toBeGreaterThan(0.015);
    const rejects = local({ ...one, async: true, call: () => Promise.reject(new Error('no')) });
    await expect(rejects.turn(turn)).rejects.toThrow('no');
    const call = (): void => {
      throw new Error('not even a promise');
    };
    await expect(local({ ...one, call }).turn(turn)).rejects.toThrow('not even a promise');
  });
});

/** From the definition, in f64. */
function expected(one: (typeof tiny)[number]): readonly number[] {
  const { call, options, shapes: extents } = one;
  const [x, w] = cases.inputsOf(one).map((data, at) => tensor(data, extents[at]!)) as [ResultTensor, ResultTensor];
  if (call.op === 'relu') return Array.from(x.data, (value) => Math.max(value, 0));
  if (call.op === 'matmul') return matmulExpected(x, w, options as Options).value;
  const { padTop, padLeft, padBottom, padRight } = call;
  return conv2dExpected(x, w, { ...(options as Options), padding: [padTop, padLeft, padBottom, padRight] }).value;
}
