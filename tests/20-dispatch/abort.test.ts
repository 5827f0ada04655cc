import { getEventListeners } from 'node:events';
import { matmul, relu, tensor } from 'uhop';
import { describe, expect, it } from 'vitest';
import { pathsOf } from '../support/paths.ts';
import { made, sizeOf } from '../support/tensors.ts';

const ones = (...shape: number[]) => tensor(new Float32Array(sizeOf(shape)).fill(1), shape);

describe('signal', () => {
  it('already aborted: nothing is computed', async () => {
    const x = made([-1], [1]);
    for (const backend of await pathsOf('relu', [x])) {
      const reason = new Error('no need any more');
      const running = relu(x, { out: x, backend, signal: AbortSignal.abort(reason) });
      await expect(running, backend).rejects.toMatchObject({ name: 'UhopError', code: 'E_ABORTED', cause: reason });
      expect(Array.from(x.data), backend).toEqual([-1]);
    }
  });

  it('aborted while the addon runs: rejects with the reason, out is untouched and the next call is right', async () => {
    const [a, b] = [ones(1536, 1536), ones(1536, 1536)];
    const beside = (await pathsOf('matmul', [a, b])).filter((path) => path !== 'naive:js');
    for (const backend of beside) {
      const aborter = new AbortController();
      const out = tensor(new Float32Array(1536 * 1536).fill(5), [1536, 1536]);
      const running = matmul(a, b, { out, backend, signal: aborter.signal });
      aborter.abort('enough');
      await expect(running, backend).rejects.toMatchObject({ code: 'E_ABORTED', cause: 'enough' });
      expect(
        out.data.every((value: number) => value === 5),
        backend,
      ).toBe(true);
      const { data } = await matmul(ones(3, 40), ones(40, 5), { backend });
      expect(Array.from(data), backend).toEqual(Array.from({ length: 15 }, () => 40));
    }
  });

  it('shared by many calls: one abort reaches all that are not done, and Node sees no leak', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const [a, b] = [ones(1024, 1024), ones(1024, 1024)];
    for (const backend of (await pathsOf('matmul', [a, b])).filter((path) => path !== 'naive:js')) {
      const { signal } = new AbortController();
      const small = Array.from({ length: 20 }, () => matmul(ones(200, 200), ones(200, 200), { backend, signal }));
      for (const { data } of await Promise.all(small)) expect(data[7], backend).toBe(200);
      expect(getEventListeners(signal, 'abort'), backend).toEqual([]);

      const aborter = new AbortController();
      const shared = tensor(new Float32Array(new SharedArrayBuffer(4 * 2048 ** 2)), [2048, 2048]);
      const options = { backend, signal: aborter.signal, borrow: true };
      const running = Array.from({ length: 12 }, () => matmul(shared, shared, options));
      aborter.abort('enough');
      for (const outcome of await Promise.allSettled(running)) {
        expect(outcome, backend).toMatchObject({ status: 'rejected', reason: { code: 'E_ABORTED', cause: 'enough' } });
      }
      expect(getEventListeners(aborter.signal, 'abort'), backend).toEqual([]);
    }
    await new Promise(setImmediate);
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  it('aborted after the call: nothing happens, and nothing listens any more', async () => {
    const [a, b] = [ones(300, 300), ones(300, 300)];
    for (const backend of await pathsOf('matmul', [a, b])) {
      const aborter = new AbortController();
      const { data } = await matmul(a, b, { backend, signal: aborter.signal });
      expect(getEventListeners(aborter.signal, 'abort'), backend).toEqual([]);
      aborter.abort();
      expect(data[0], backend).toBe(300);
    }
  });
});
