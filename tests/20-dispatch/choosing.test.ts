import { conv2dSync, devices, explain, matmul, matmulSync, relu, reluSync, tensor } from 'uhop';
import { afterEach, describe, expect, it } from 'vitest';
import type { Backend } from '../../backends/contract.ts';
import { naive } from '../../dist/backends/naive.js';
import { runtime } from '../../dist/lib/dispatch/registry.js';
import { inFreshProcess } from '../support/fresh.ts';
import { made } from '../support/tensors.ts';

const square = (size: number) => tensor(new Float32Array(size * size).fill(1), [size, size]);
const unavailable = (message: RegExp) =>
  expect.objectContaining({ code: 'E_BACKEND_UNAVAILABLE', message: expect.stringMatching(message) });

afterEach(() => {
  delete process.env.UHOP_BACKEND;
});

describe('a forced backend or path', () => {
  it('runs, by either name', async () => {
    expect(matmulSync(square(2), square(2), { backend: 'naive' }).path).toBe('naive:js');
    expect((await matmul(square(2), square(2), { backend: 'naive:js' })).path).toBe('naive:js');
  });

  it('may come from UHOP_BACKEND, which the option goes before', async () => {
    const { ranking } = await explain('matmul', [
      [300, 300],
      [300, 300],
    ]);
    expect(ranking.length).toBeGreaterThan(1);
    process.env.UHOP_BACKEND = 'naive';
    expect(matmulSync(square(300), square(300)).path).toBe('naive:js');
    expect(matmulSync(square(300), square(300), { backend: ranking[0]!.path }).path).toBe(ranking[0]!.path);
    process.env.UHOP_BACKEND = 'vulkan';
    expect(() => reluSync(square(2))).toThrow(unavailable(/no backend 'vulkan', which UHOP_BACKEND asks for/));
    process.env.UHOP_BACKEND = '';
    expect(reluSync(square(2)).shape).toEqual([2, 2]);
  });

  it('never falls back: a backend that is none', async () => {
    const refused = unavailable(/no backend 'cudda', which the option backend asks for: there are cpu, naive/);
    expect(() => reluSync(square(2), { backend: 'cudda:0' })).toThrow(refused);
    await expect(relu(square(2), { backend: 'cudda:0' })).rejects.toEqual(refused);
    expect(() => reluSync(square(2), { backend: 'naiv' })).toThrow(unavailable(/did you mean 'naive'/));
    await expect(explain('relu', [[2]], { backend: 'cudda' })).rejects.toMatchObject({ code: 'E_BACKEND_UNAVAILABLE' });
  });

  it('never falls back: a path that is not offered for this call', async () => {
    const wrong = { backend: 'naive:wasm' };
    expect(() => reluSync(square(2), wrong)).toThrow(unavailable(/relu cannot run on 'naive:wasm'.*naive:js/));
    expect(() => reluSync(square(2), { backend: 'naive:j' })).toThrow(unavailable(/naive:j'/));
    const half = tensor(new Uint16Array(1), [1, 1, 1, 1], 'f16');
    expect(() => conv2dSync(half, half, { backend: 'cpu:relu-baseline' })).toThrow(
      unavailable(/on offer for this f16 call are .*naive:js/),
    );
  });

  it('never falls back: a backend that is switched off or missing says why and what to do', async () => {
    const forced = `return uhop.reluSync(uhop.tensor([1], [1]), { backend: 'cpu' }).path`;
    const caught = `try { ${forced} } catch ({ code, message, details }) { return { code, message, reason: details.reason.code } }`;
    expect(await inFreshProcess(caught, { UHOP_DISABLE: 'cuda,cpu' })).toMatchObject({
      answer: {
        code: 'E_BACKEND_UNAVAILABLE',
        reason: 'disabled',
        message: expect.stringMatching(/UHOP_DISABLE.*Remove cpu/),
      },
    });
    expect(await inFreshProcess(caught, { UHOP_NATIVE_PATH: '/nowhere/uhop.node' })).toMatchObject({
      answer: {
        code: 'E_BACKEND_UNAVAILABLE',
        reason: 'library-missing',
        message: expect.stringMatching(/\/nowhere\/uhop\.node.*npx uhop build/),
      },
    });
  });
});

describe('explain', () => {
  it('ranks by expected time and says why', async () => {
    const { op, call, ranking, passedOver } = await explain('matmul', [
      [512, 512],
      [512, 512],
    ]);
    expect(op).toBe('matmul');
    expect(call).toMatchObject({ M: 512, N: 512, K: 512 });
    expect(ranking.map(({ chosen }) => chosen)).toEqual(ranking.map((_, at) => at === 0));
    const seconds = ranking.map((path) => path.seconds);
    expect(seconds).toEqual(seconds.toSorted((left, right) => left - right));
    expect(ranking[0]).toMatchObject({ source: 'estimate', why: 'the least expected time' });
    expect(ranking.at(-1)).toMatchObject({ path: 'naive:js', why: expect.stringMatching(/times as long/) });
    expect(passedOver).toEqual([]);
  });

  it('tells what runs', async () => {
    for (const size of [1, 2, 8, 32, 200]) {
      const inputs = [square(size), square(size)] as const;
      const { ranking } = await explain('matmul', inputs);
      expect(matmulSync(...inputs).path).toBe(ranking[0]!.path);
      expect((await matmul(...inputs)).path).toBe(ranking[0]!.path);
    }
  });

  it('tells a forced choice from the others', async () => {
    const { ranking } = await explain(
      'matmul',
      [
        [512, 512],
        [512, 512],
      ],
      { backend: 'naive' },
    );
    expect(ranking[0]).toMatchObject({ path: 'naive:js', chosen: true, why: 'the option backend asks for it' });
    expect(ranking[1]).toMatchObject({ chosen: false, why: expect.stringMatching(/^not 'naive'/) });
  });

  it('says why a backend has no path', async () => {
    const backends = runtime.backends as Backend[];
    const idle: Backend = { ...naive, id: 'idle', paths: () => [] };
    backends.push(idle);
    const { passedOver } = await explain('relu', [[8]], { dtype: 'bf16' });
    backends.splice(backends.indexOf(idle), 1);
    expect(passedOver).toEqual([
      {
        backend: 'idle',
        reason: { code: 'no-path', message: expect.stringMatching(/bf16 relu/), hint: expect.any(String) },
      },
    ]);
    const off = `return (await uhop.explain('relu', [[8]])).passedOver`;
    expect(await inFreshProcess(off, { UHOP_DISABLE: 'cpu' })).toMatchObject({
      answer: [{ backend: 'cpu', reason: { code: 'disabled' } }],
    });
  });
});

describe('devices', () => {
  it('lists every backend, and a reason for each that is not usable', async () => {
    const found = await devices();
    expect(found.map(({ backend }) => backend)).toEqual(['cpu', 'naive']);
    expect(found.filter(({ usable, reason }) => !usable && !reason)).toEqual([]);
    expect(found.at(-1)).toMatchObject({ usable: true, built: true, present: true });
    expect(await devices({ refresh: true })).toEqual(found);
    await expect(devices({ refreshed: true } as never)).rejects.toMatchObject({ code: 'E_ARGUMENT' });
  });
});

describe('without the addon', () => {
  const without = { UHOP_NATIVE_PATH: '/nowhere/uhop.node' };
  const call = (size: number): string =>
    `const x = uhop.tensor(new Float32Array(${size * size}).fill(1), [${size}, ${size}]);
     const paths = [uhop.matmulSync(x, x), await uhop.matmul(x, x), uhop.matmulSync(x, x)].map(({ path }) => path);`;

  it('a call of some size warns once, with the reason and the remedy', async () => {
    expect(await inFreshProcess(`${call(128)} return paths`, without)).toEqual({
      answer: ['naive:js', 'naive:js', 'naive:js'],
      warnings: [{ code: 'UHOP_FALLBACK', message: expect.stringMatching(/matmul.*\/nowhere.*npx uhop build/) }],
    });
  });

  it.each([
    ['a tiny call', call(4), without],
    ['a forced one', `${call(1)} uhop.matmulSync(x, x, { backend: 'naive' }); return paths`, without],
    ['a backend switched off on purpose', call(128), { UHOP_DISABLE: 'cpu' }],
    ['the import', '', without],
  ])('%s does not warn', async (_, body, env) => {
    expect(await inFreshProcess(body, env)).toMatchObject({ warnings: [] });
  });

  it('a call that the addon would not have run does not warn', async () => {
    const forced = `const x = uhop.tensor(new Float32Array(16384).fill(1), [128, 128]);
      return uhop.matmulSync(x, x, { backend: 'naive' }).path`;
    expect(await inFreshProcess(forced, without)).toEqual({ answer: 'naive:js', warnings: [] });
  });
});

it('importing the package loads no native code', async () => {
  const counting = `let loads = 0; const { dlopen } = process;
    process.dlopen = (...rest) => { loads += 1; return dlopen.apply(process, rest); };
    await import(${JSON.stringify(new URL('../../dist/lib/index.js', import.meta.url).href)} + '?again');
    const onImport = loads;
    const { path } = uhop.matmulSync(uhop.tensor(new Float32Array(4096), [64, 64]), uhop.tensor(new Float32Array(4096), [64, 64]));
    return { onImport, afterwards: loads, path: path.split(':')[0] };`;
  expect(await inFreshProcess(counting)).toMatchObject({ answer: { onImport: 0, afterwards: 1, path: 'cpu' } });
});

it('results carry their path, shape and dtype', () => {
  expect(reluSync(made([-1, 1], [2, 1]), { backend: 'naive' })).toEqual({
    data: Float32Array.of(0, 1),
    shape: [2, 1],
    dtype: 'f32',
    path: 'naive:js',
  });
});
