import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder, uhop } from './cli.ts';

describe('uhop devices', () => {
  test('says three words for each backend', async () => {
    const { code, stdout, stderr } = await uhop(['devices']);
    expect(stdout).toMatch(/^DEVICE +BUILT +PRESENT +USABLE/);
    expect(stdout).toMatch(/^naive +yes +yes +yes/m);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('gives a reason, a code and a hint for each no', async () => {
    const { stdout } = await uhop(['devices', '--json'], { env: { UHOP_DISABLE: 'cpu' } });
    const found = JSON.parse(stdout) as { backend: string; usable: boolean; reason?: Record<string, string> }[];
    const cpu = found.find(({ backend }) => backend === 'cpu');
    expect(cpu).toMatchObject({ usable: false, reason: { code: 'disabled' } });
    for (const { usable, reason } of found) expect(usable || (reason?.['message'] && reason['hint'])).toBeTruthy();
  });

  test('writes one JSON document and nothing else, flags before or after', async () => {
    for (const args of [
      ['--json', 'devices'],
      ['devices', '--json'],
    ]) {
      const { stdout, stderr } = await uhop(args);
      expect(JSON.parse(stdout)).toBeInstanceOf(Array);
      expect(stderr).toBe('');
    }
  });
});

describe('uhop explain', () => {
  interface Explained {
    readonly call: Readonly<Record<string, unknown>>;
    readonly ranking: readonly { readonly path: string; readonly seconds: number; readonly chosen: boolean }[];
    readonly passedOver: readonly { readonly backend: string; readonly reason: { readonly code: string } }[];
  }
  const explained = async (...args: string[]): Promise<Explained> =>
    JSON.parse((await uhop(['explain', ...args, '--json'])).stdout) as Explained;

  test('ranks the paths of a matmul, one of them chosen', async () => {
    const { call, ranking } = await explained('matmul', '1024x512', '512x2048');
    expect(call).toMatchObject({ op: 'matmul', M: 1024, N: 2048, K: 512, dtype: 'f32' });
    expect(ranking.filter(({ chosen }) => chosen)).toHaveLength(1);
    expect(ranking.map(({ path }) => path)).toContain('naive:js');
    for (const { seconds } of ranking) expect(seconds).toBeGreaterThan(0);
  });

  test('takes every option of the ops', async () => {
    const matmul = await explained(
      'matmul',
      '4x8',
      '6x4',
      '--transpose-a',
      '--transpose-b',
      '--dtype',
      'f64',
      '--bias',
      '6',
    );
    expect(matmul.call).toMatchObject({ transposeA: true, transposeB: true, dtype: 'f64', M: 8, N: 6, bias: 'row' });
    const spatial = ['--stride', '2', '--padding', '1,2,3,4', '--dilation', '1,2', '--groups', '2', '--layout', 'nhwc'];
    const conv2d = await explained('conv2d', '2x9x9x4', '3x3x2x6', ...spatial, '--activation', 'relu');
    expect(conv2d.call).toMatchObject({ strideH: 2, strideW: 2, padTop: 1, padRight: 4, dilationW: 2, groups: 2 });
    expect(conv2d.call).toMatchObject({ layout: 'nhwc', activation: 'relu' });
    expect((await explained('relu', '2x3')).call).toMatchObject({ op: 'relu', length: 6 });
  });

  test('prints a table for people', async () => {
    const { code, stdout } = await uhop(['explain', 'matmul', '64x64', '64x64']);
    expect(stdout).toMatch(/PATH +EXPECTED +SOURCE +KERNEL +WHY/);
    expect(stdout).toMatch(/^→ \S+ .*the least expected time$/m);
    expect(code).toBe(0);
  });

  test('a forced backend that is not there ends with 3 and says why', async () => {
    const { code, stdout, stderr } = await uhop(['explain', 'matmul', '4x4', '4x4', '--backend', 'cpu'], {
      env: { UHOP_DISABLE: 'cpu' },
    });
    expect(stderr).toContain('[E_BACKEND_UNAVAILABLE]');
    expect(stderr).toContain('hint:');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  });

  test('shapes that do not fit are a usage error', async () => {
    const { code, stderr } = await uhop(['explain', 'matmul', '3x4', '5x6']);
    expect(stderr).toContain('K = 4');
    expect(stderr).toContain('[E_SHAPE]');
    expect(code).toBe(2);
  });
});

describe('uhop doctor', () => {
  interface Finding {
    readonly name: string;
    readonly ok: boolean | null;
    readonly value: string;
    readonly hint?: string;
  }

  test('reports every part; exit code 3 when the cpu path is missing, with what to do', async () => {
    await using place = await folder();
    const { code, stdout } = await uhop(['doctor', '--json'], { cwd: place.path, env: { UHOP_DISABLE: 'cpu' } });
    const findings = JSON.parse(stdout) as Finding[];
    const names = ['node', 'compiler', 'cmake', 'addon', 'instructions', 'threads', 'memory', 'sqlite', 'store'];
    expect(findings.map(({ name }) => name)).toEqual(names);
    expect(findings.find(({ name }) => name === 'addon')).toMatchObject({ ok: false, hint: expect.any(String) });
    expect(code).toBe(3);
  });

  test('finds whichever compiler the build would, and misses its tools only where there is no addon', async () => {
    await using place = await folder();
    await writeFile(join(place.path, 'clang++'), '#!/bin/sh\necho clang version 99\n', { mode: 0o755 });
    const examined = async (env: Record<string, string>): Promise<readonly (Finding | undefined)[]> => {
      const { stdout } = await uhop(['doctor', '--json'], { cwd: place.path, env });
      const findings = JSON.parse(stdout) as Finding[];
      return ['compiler', 'cmake'].map((name) => findings.find((finding) => finding.name === name));
    };
    const missing = { ok: false, value: 'cmake: none runs', hint: expect.stringContaining('uhop build') };
    const none = { PATH: '/nowhere', UHOP_NATIVE_PATH: '/nowhere/uhop.node' };
    expect(await examined({ ...none, PATH: place.path })).toMatchObject([
      { ok: true, value: 'clang version 99' },
      missing,
    ]);
    expect(await examined(none)).toMatchObject([{ ok: false, value: 'c++, g++, clang++: none runs' }, missing]);
    expect(await examined({ ...none, CXX: 'my-c++' })).toMatchObject([
      { ok: false, value: 'my-c++: none runs' },
      missing,
    ]);
    expect(await examined({ PATH: '/nowhere' })).toMatchObject([{ ok: null }, { ok: null }]);
  });

  test('looks at the store’s folder without creating it', async () => {
    await using place = await folder();
    const store = join(place.path, 'new/store');
    const { stdout } = await uhop(['doctor', '--store', store]);
    expect(stdout).toContain(`${store}, writable`);
    await expect(access(store)).rejects.toThrow('ENOENT');
  });

  test('a store below a file is found wanting', async () => {
    const { stdout } = await uhop(['doctor', '--json', '--store', join(process.cwd(), 'package.json', 'store')]);
    const store = (JSON.parse(stdout) as Finding[]).find(({ name }) => name === 'store');
    expect(store).toMatchObject({ ok: false, hint: expect.stringContaining('--store') });
  });
});

describe('uhop build', () => {
  test('without its tools it fails with what is missing', async () => {
    const { code, stdout, stderr } = await uhop(['build'], { env: { PATH: '/nowhere' } });
    expect(stderr).toContain('CMake');
    expect(stderr).toContain('hint: `uhop doctor`');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });
});
