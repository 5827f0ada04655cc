import { spawnSync } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { MatmulCall, Path } from '../../backends/contract.ts';
import { cpu, loadNative, matmulCall } from '../support/native.ts';

const size = 700;
const call: MatmulCall = matmulCall(size, size, size);
const ones = new Float32Array(size * size).fill(1);
const path: Path = cpu.paths(call)[0]!;

describe('a product beside the event loop', () => {
  it('does not hold the loop, and several at once are all right', async () => {
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 0);
    const outs = Array.from({ length: 6 }, () => new Float32Array(size * size));
    await Promise.all(outs.map((out) => cpu.run(path, call, { inputs: [ones, ones], out }, {})));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(0);
    for (const out of outs) expect(out.every((y) => y === size)).toBe(true);
  });

  it('is aborted with the reason of the signal, in mid-product and in the queue, and the next call is right', async () => {
    const controllers = Array.from({ length: 8 }, () => new AbortController());
    const big = matmulCall(2048, 2048, 2048);
    const input = new Float32Array(2048 * 2048).fill(1);
    const runs = controllers.map(({ signal }) =>
      cpu.run(path, big, { inputs: [input, input], out: new Float32Array(2048 * 2048) }, { signal }),
    );
    const reason = new Error('changed my mind');
    for (const controller of controllers) controller.abort(reason);
    for (const outcome of await Promise.allSettled(runs)) {
      const error = (outcome as PromiseRejectedResult).reason as { code: string; cause: unknown };
      expect([error.code, error.cause]).toEqual(['E_ABORTED', reason]);
    }
    const out = new Float32Array(size * size);
    await cpu.run(path, call, { inputs: [ones, ones], out }, {});
    expect(out[17]).toBe(size);
  });

  it('is not begun when the signal is aborted already', async () => {
    const out = new Float32Array(size * size);
    const signal = AbortSignal.abort('no');
    await expect(cpu.run(path, call, { inputs: [ones, ones], out }, { signal })).rejects.toMatchObject({
      code: 'E_ABORTED',
      cause: 'no',
    });
    expect(out[0]).toBe(0);
  });

  it('ignores an abort that comes after the end', async () => {
    const controller = new AbortController();
    const out = new Float32Array(size * size);
    await cpu.run(path, call, { inputs: [ones, ones], out }, { signal: controller.signal });
    controller.abort();
    await setImmediate();
    expect(out.every((y) => y === size)).toBe(true);
  });

  it('keeps the process alive until it is done and not longer', () => {
    const program = `
      const addon = require(${JSON.stringify(loadNative().path)});
      const a = new Float32Array(512 * 512).fill(1), out = new Float32Array(512 * 512);
      const shape = Float64Array.of(0, 512, 512, 512, 0, 0, 0, 0, 0);
      addon.run(0, 2, shape, a, a, undefined, out, (outcome) => console.log(outcome, out[5]));`;
    const { status, stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, '0 512\n']);
  });

  it('does not delay process.exit()', () => {
    const program = `
      const addon = require(${JSON.stringify(loadNative().path)});
      const n = 3000, a = new Float32Array(n * n), out = new Float32Array(n * n);
      for (let i = 0; i < 4; i++) {
        addon.run(0, 2, Float64Array.of(0, n, n, n, 0, 0, 0, 0, 0), a, a, undefined, out, () => console.log('done'));
      }
      process.exit(7);`;
    const { status, signal, stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect([status, signal, stdout]).toEqual([7, null, '']);
  });
});
