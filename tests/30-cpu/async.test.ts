import { spawnSync } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { devices, matmul, tensor, UhopError } from 'uhop';
import { describe, expect, it } from 'vitest';
import { inFreshProcess } from '../support/fresh.ts';
import { loadNative } from '../support/native.ts';

const hasPrlimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;
if (!hasPrlimit) console.log('skipped: no prlimit to take memory away with');

const size = 700;
const square = (n: number) => tensor(new Float32Array(n * n).fill(1), [n, n]);
const ones = square(size);
const [best] = (await devices()).find(({ id }) => id === 'cpu')!.features;
const backend = `cpu:gemm-${best}`;

describe('a product beside the event loop', () => {
  it('does not hold the loop, and several at once are all right', async () => {
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 0);
    const results = await Promise.all(Array.from({ length: 6 }, () => matmul(ones, ones, { backend })));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(0);
    for (const { data, path } of results) {
      expect(path).toBe(backend);
      expect(data.every((y) => y === size)).toBe(true);
    }
  });

  it('is aborted with the reason of the signal, in mid-product and in the queue, and the next call is right', async () => {
    const controllers = Array.from({ length: 8 }, () => new AbortController());
    // Shared memory is borrowed, not copied, so that all calls are made long before the first product is done.
    const big = tensor(new Float32Array(new SharedArrayBuffer(4 * 4096 ** 2)), [4096, 4096]);
    const runs = controllers.map(({ signal }) => matmul(big, big, { backend, signal, borrow: true }));
    const reason = new Error('changed my mind');
    for (const controller of controllers) controller.abort(reason);
    for (const outcome of await Promise.allSettled(runs)) {
      const error = (outcome as PromiseRejectedResult).reason as UhopError;
      expect(error).toBeInstanceOf(UhopError);
      expect([error.code, error.cause]).toEqual(['E_ABORTED', reason]);
    }
    expect((await matmul(ones, ones, { backend })).data[17]).toBe(size);
  });

  it('ignores an abort that comes after the end', async () => {
    const controller = new AbortController();
    const { data } = await matmul(ones, ones, { backend, signal: controller.signal });
    controller.abort();
    await setImmediate();
    expect(data.every((y) => y === size)).toBe(true);
  });

  it.runIf(hasPrlimit)('is the path’s own failure where no thread can be started', async () => {
    // Less memory left than the stack of a thread takes.
    const body = `
      const { execFileSync } = await import('node:child_process');
      const { readFileSync } = await import('node:fs');
      const a = uhop.tensor(new Float32Array(200 * 200).fill(1), [200, 200]);
      await uhop.explain('matmul', [a, a]);
      const [, kilobytes] = /VmSize:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
      execFileSync('prlimit', ['--pid', process.pid, '--as=' + (kilobytes * 1024 + 7 * 2 ** 20)]);
      const forced = await uhop.matmul(a, a, { backend: '${backend}' }).catch(({ name, code, message }) => ({ name, code, message }));
      const { path, data } = await uhop.matmul(a, a);
      return { forced, path, right: data.every((y) => y === 200) };`;
    expect(await inFreshProcess(body)).toMatchObject({
      answer: {
        forced: {
          name: 'UhopError',
          code: 'E_OUT_OF_MEMORY',
          message: expect.stringMatching(/no thread can be started/),
        },
        path: 'naive:js',
        right: true,
      },
      warnings: expect.arrayContaining([
        { code: 'UHOP_FALLBACK', message: expect.stringMatching(/naive:js runs instead/) },
      ]),
    });
  });

  it('keeps the process alive until it is done and not longer', () => {
    const program = `
      const addon = require(${JSON.stringify(loadNative().path)});
      const a = new Float32Array(512 * 512).fill(1), out = new Float32Array(512 * 512);
      const shape = Float64Array.of(0, 512, 512, 512, 0, 0, 0, 0, 0);
      addon.run(0, 2, shape, a, a, undefined, out, undefined, (outcome) => console.log(outcome, out[5]));`;
    const { status, stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, '0 512\n']);
  });

  it('does not delay process.exit()', () => {
    const program = `
      const addon = require(${JSON.stringify(loadNative().path)});
      const n = 3000, a = new Float32Array(n * n), out = new Float32Array(n * n);
      for (let i = 0; i < 4; i++) {
        addon.run(0, 2, Float64Array.of(0, n, n, n, 0, 0, 0, 0, 0), a, a, undefined, out, undefined, () => console.log('done'));
      }
      process.exit(7);`;
    const { status, signal, stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect([status, signal, stdout]).toEqual([7, null, '']);
  });
});
