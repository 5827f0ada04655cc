import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PNG } from 'pngjs';
import { describe, expect, test } from 'vitest';
import { folder, Running, uhop, writeNpy } from './cli.ts';

interface Report {
  readonly interrupted: {
    readonly tiles: number;
    readonly takeoverMs: number;
    readonly first: { readonly pid: number; readonly computed: number };
    readonly second: {
      readonly pid: number;
      readonly computed: number;
      readonly reused: number;
      readonly redone: number;
    };
  };
  readonly identical: boolean;
  readonly recognition: { readonly accuracy: number; readonly tested: number };
  readonly sheet: string;
  readonly checks: readonly { readonly name: string; readonly ok: boolean }[];
}

/** Small enough for plain loops to be done in seconds, large enough for a signal to fall into a tile. */
const SHORT = ['--n', '1000', '--backend', 'naive'];

describe('uhop demo', () => {
  test('kills, resumes, compares, recognises and draws', async () => {
    await using place = await folder();
    const { code, stdout, stderr } = await uhop(['demo', ...SHORT, '--out', place.path, '--json']);
    const report = JSON.parse(stdout) as Report;
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    const { tiles, first, second } = report.interrupted;
    expect(first.pid).not.toBe(second.pid);
    expect(first.computed).toBeGreaterThanOrEqual(Math.floor(tiles * 0.4));
    expect(second).toMatchObject({ reused: first.computed, computed: tiles - first.computed, redone: 1 });
    expect(report.recognition).toMatchObject({
      tested: 200,
      accuracy: expect.toSatisfy((share: number) => share > 0.9),
    });
    const sheet = PNG.sync.read(await readFile(report.sheet));
    expect(new Set(sheet.data).size).toBeGreaterThan(50);
    expect(await readdir(place.path)).toEqual(['edges.png']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('own images whose labels are wrong fail the check on the numbers, with exit code 1', async () => {
    await using place = await folder();
    const [data, labels] = [join(place.path, 'images.npy'), join(place.path, 'labels.npy')];
    const count = 1000;
    await writeNpy(
      data,
      [count, 28, 28],
      Float32Array.from({ length: count * 784 }, (_, at) => Math.abs(Math.sin(at * at))),
    );
    await writeNpy(
      labels,
      [count],
      Float32Array.from({ length: count }, (_, at) => Math.floor(10 * Math.abs(Math.sin(at)))),
    );
    const out = join(place.path, 'out');
    const { code, stdout } = await uhop(['demo', ...SHORT, '--data', data, '--labels', labels, '--out', out, '--json']);
    const report = JSON.parse(stdout) as Report;
    expect(report.checks.filter(({ ok }) => !ok)).toMatchObject([{ name: expect.stringContaining('recognised') }]);
    expect(report.identical).toBe(true);
    expect(code).toBe(1);
  });

  test('--data without --labels is a usage error', async () => {
    await using place = await folder();
    const { code, stderr } = await uhop(['demo', '--data', 'images.npy'], { cwd: place.path });
    expect(stderr).toContain('belong together');
    expect(code).toBe(2);
  });

  test('a backend that is not there ends it with 3 before it begins', async () => {
    await using place = await folder();
    const { code, stdout } = await uhop(['demo', '--backend', 'cpu'], {
      cwd: place.path,
      env: { UHOP_DISABLE: 'cpu' },
    });
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(await readdir(place.path)).toEqual([]);
  });

  test('Ctrl-C ends it with 130 and leaves no stores behind', async () => {
    await using place = await folder();
    await using running = new Running(['demo', ...SHORT, '--out', place.path]);
    await running.says('A durable job');
    const { code } = await running.kill('SIGINT');
    expect(code).toBe(130);
    expect(await readdir(place.path)).toEqual([]);
  });
});
