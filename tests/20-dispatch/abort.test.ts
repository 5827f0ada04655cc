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
