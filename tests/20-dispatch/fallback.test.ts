import { tensor, UhopError } from 'uhop';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { naive } from '../../dist/backends/naive.js';
import { run, runSync } from '../../dist/lib/dispatch/run.js';
import { createRuntime } from '../../dist/lib/dispatch/runtime.js';

type Failure = 'E_OUT_OF_MEMORY' | 'E_DEVICE_LOST' | 'E_ARGUMENT';
type Stand = typeof naive & { runs: number };

/** A device that is expected to be fast, scribbles over the output and fails. */
function failing(code: Failure, inline: boolean): Stand {
  const fail = (out: ArrayLike<number> & { fill(value: number): unknown }): never => {
    stand.runs += 1;
    out.fill(99);
    throw new UhopError(code, 'the device is gone');
  };
  const stand: Stand = {
    ...naive,
    id: 'shaky',
    runs: 0,
    paths: () => [{ id: 'shaky:0:fast', backend: 'shaky', seconds: 0, source: 'estimate', inline }],
    run: async (_path, _call, { out }) => fail(out),
    runSync: (_path, _call, { out }) => fail(out),
  };
  return stand;
}

const x = () => tensor([-1, 2], [2]);

describe('a path that fails', () => {
  let warnings: { readonly code?: string; readonly message: string }[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  beforeEach(() => {
    warnings = [];
    process.on('warning', listen);
  });
  afterEach(async () => {
    await new Promise(setImmediate);
    process.off('warning', listen);
  });

  it.each([
    ['E_OUT_OF_MEMORY', true],
    ['E_OUT_OF_MEMORY', false],
    ['E_DEVICE_LOST', true],
    ['E_DEVICE_LOST', false],
  ] as const)(
    '%s (inline: %s): the next one runs, with one warning, and it is passed over for a while',
    async (code, inline) => {
      const shaky = failing(code, inline);
      const runtime = createRuntime([shaky, naive]);
      const out = tensor([5, 5], [2]);
      const input = x();
      const running = run(runtime, 'relu', [input], { out });
      input.data.fill(7);
      expect(await running).toMatchObject({ path: 'naive:js', data: Float32Array.of(0, 2) });
      expect(Array.from(out.data)).toEqual([0, 2]);
      expect(runSync(runtime, 'relu', [x()]).path).toBe('naive:js');
      expect((await run(runtime, 'relu', [x()])).path).toBe('naive:js');
      expect(shaky.runs).toBe(1);
      await new Promise(setImmediate);
      expect(warnings).toEqual([
        expect.objectContaining({
          code: 'UHOP_FALLBACK',
          message: expect.stringMatching(/relu: shaky:0:fast failed \(the device is gone\); naive:js runs instead/),
        }),
      ]);
    },
  );

  it('is tried again when it is the only one or its time is over', async () => {
    const shaky = failing('E_DEVICE_LOST', true);
    const runtime = createRuntime([shaky, naive]);
    runSync(runtime, 'relu', [x()]);
    runtime.retired.set('shaky:0:fast', performance.now() - 1);
    expect(runSync(runtime, 'relu', [x()]).path).toBe('naive:js');
    expect(shaky.runs).toBe(2);
    const alone = createRuntime([shaky]);
    expect(() => runSync(alone, 'relu', [x()])).toThrow(expect.objectContaining({ code: 'E_DEVICE_LOST' }));
    expect(() => runSync(alone, 'relu', [x()])).toThrow(expect.objectContaining({ code: 'E_DEVICE_LOST' }));
    expect(shaky.runs).toBe(4);
  });

  it('is the answer when it was forced', async () => {
    const runtime = createRuntime([failing('E_OUT_OF_MEMORY', false), naive]);
    await expect(run(runtime, 'relu', [x()], { backend: 'shaky' })).rejects.toMatchObject({ code: 'E_OUT_OF_MEMORY' });
    expect(() => runSync(runtime, 'relu', [x()], { backend: 'shaky:0:fast' })).toThrow('the device is gone');
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  });

  it('is not even asked for an empty result', async () => {
    const shaky = failing('E_ARGUMENT', true);
    const runtime = createRuntime([shaky]);
    const empty = [tensor([], [0, 4, 8]), tensor(new Float32Array(32), [1, 8, 4])];
    const nothing = { path: 'shaky:0:fast', shape: [0, 4, 4], data: new Float32Array(0) };
    expect(runSync(runtime, 'matmul', empty)).toMatchObject(nothing);
    expect(await run(runtime, 'matmul', empty)).toMatchObject(nothing);
    expect(shaky.runs).toBe(0);
  });

  it('for another reason is no reason to try the next', async () => {
    const runtime = createRuntime([failing('E_ARGUMENT', true), naive]);
    expect(() => runSync(runtime, 'relu', [x()])).toThrow(expect.objectContaining({ code: 'E_ARGUMENT' }));
    await expect(run(runtime, 'relu', [x()])).rejects.toMatchObject({ code: 'E_ARGUMENT' });
  });
});

describe('a backend without a way to answer inside the call', () => {
  const { runSync: _runSync, probeSync: _probeSync, ...rest } = naive;
  const remote = {
    ...rest,
    id: 'remote',
    paths: () => [{ id: 'remote:0', backend: 'remote', seconds: 0, source: 'estimate' as const, inline: false }],
  };
  const runtime = createRuntime([remote, naive]);

  it('serves async ops alone', async () => {
    expect((await run(runtime, 'relu', [x()])).path).toBe('remote:0');
    expect(runSync(runtime, 'relu', [x()]).path).toBe('naive:js');
    expect(() => runSync(runtime, 'relu', [x()], { backend: 'remote' })).toThrow(
      expect.objectContaining({
        code: 'E_BACKEND_UNAVAILABLE',
        message: expect.stringMatching(/'remote'.*use relu\(\) instead/),
      }),
    );
  });
});
