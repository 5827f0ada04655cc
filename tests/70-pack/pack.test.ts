import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../support/repository.ts';

const folder = mkdtempSync(join(tmpdir(), 'uhop-pack-'));
const installed = join(folder, 'node_modules/uhop');
let packed: { filename: string; files: { path: string }[]; size: number };

/** Runs a command with an environment free of what the surrounding npm and test runner set. */
function run(
  command: string,
  args: string[],
  cwd: string,
  env: Record<string, string> = {},
): { status: number | null; stdout: string; stderr: string } {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_(lifecycle|package|command|execpath|node)|UHOP_|VITEST|NODE_ENV)/.test(name),
    ),
  );
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', env: { ...clean, ...env } });
  return { status, stdout, stderr };
}
const script = (source: string): ReturnType<typeof run> =>
  run(process.execPath, ['--input-type=module', '-e', source], folder);

beforeAll(() => {
  const pack = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root);
  expect(pack.status, pack.stderr).toBe(0);
  packed = JSON.parse(pack.stdout)[0];
  writeFileSync(join(folder, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the tarball', () => {
  it('carries the product and its sources, and nothing else', () => {
    const paths = packed.files.map((file) => file.path);
    for (const needed of [
      'dist/lib/index.js',
      'dist/lib/index.d.ts',
      'dist/lib/dhp/index.js',
      'dist/lib/cli/main.js',
      'native/build.mjs',
      'native/addon.cc',
      'CMakeLists.txt',
      'README.md',
      'LICENSE',
    ]) {
      expect(paths).toContain(needed);
    }
    expect(
      paths.filter(
        (path) =>
          !/^(dist\/(lib|backends)|native|kernels)\/|^(CMakeLists\.txt|[A-Z]+(\.md)?|package\.json)$/.test(path),
      ),
    ).toEqual([]);
  });

  it.each([
    ['publint', ['--strict']],
    ['attw', ['--pack', '.', '--profile', 'esm-only', '--no-emoji']],
  ])('passes %s', (tool, args) => {
    const checked = run(join(root, 'node_modules/.bin', tool), args, root, { npm_config_ignore_scripts: 'true' });
    expect(checked.status, checked.stdout + checked.stderr).toBe(0);
  });
});

describe('installed in an empty folder', () => {
  it('imports and works where install scripts are forbidden, and says how to build', () => {
    const install = run(
      'npm',
      ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', join(folder, packed.filename)],
      folder,
    );
    expect(install.status, install.stderr).toBe(0);
    const used = script(`
      import { matmulSync, devices, tensor } from 'uhop';
      const y = matmulSync(tensor(new Float32Array([1, 2, 3, 4]), [2, 2]), tensor(new Float32Array([1, 0, 0, 1]), [2, 2]));
      const cpu = (await devices()).find((device) => device.backend === 'cpu');
      console.log(JSON.stringify({ data: [...y.data], path: y.path, cpu }));`);
    expect(used.status, used.stderr).toBe(0);
    const { data, path, cpu } = JSON.parse(used.stdout);
    expect(data).toEqual([1, 2, 3, 4]);
    expect(path).toBe('naive:js');
    expect(cpu).toMatchObject({ built: false, usable: false, reason: { code: 'library-missing' } });
    expect(cpu.reason.hint).toContain('npx uhop build');
  }, 300_000);

  it('says where install scripts are forbidden what the stores lack, too', () => {
    const examined = run('npx', ['--no-install', 'uhop', 'doctor', '--json'], folder);
    expect(examined.status, examined.stderr).toBe(3);
    const findings = JSON.parse(examined.stdout) as { name: string; ok: boolean | null; value: string }[];
    const missing = findings.filter(({ ok }) => ok === false);
    expect(missing.map(({ name }) => name)).toEqual(['addon', 'instructions', 'sqlite']);
    expect(missing[2]!.value).toContain('npm rebuild better-sqlite3');
    const used = script(`
      import { openStore } from 'uhop/dhp';
      await (await openStore('memory:')).close();
      const { name, code, message } = await openStore('./store').catch((error) => error);
      console.log(JSON.stringify({ name, code, message }));`);
    expect(used.status, used.stderr).toBe(0);
    expect(JSON.parse(used.stdout)).toMatchObject({
      ...{ name: 'DhpError', code: 'E_STORE' },
      message: expect.stringContaining('npm rebuild better-sqlite3'),
    });
  });

  it('builds the addon by its install script', () => {
    const rebuild = run('npm', ['rebuild', 'uhop', '--foreground-scripts'], folder);
    expect(rebuild.status, rebuild.stderr).toBe(0);
    expect(existsSync(join(installed, 'build/Release/uhop.node')), rebuild.stdout + rebuild.stderr).toBe(true);
    const used = script(`
      import { matmulSync, tensor } from 'uhop';
      const n = 64, a = tensor(new Float32Array(n * n).fill(1), [n, n]);
      const y = matmulSync(a, a);
      console.log(JSON.stringify({ path: y.path, right: y.data.every((value) => value === n) }));`);
    expect(used.status, used.stderr).toBe(0);
    const { path, right } = JSON.parse(used.stdout);
    expect(path).toMatch(/^cpu:gemm-/);
    expect(right).toBe(true);
  }, 300_000);

  it('runs the command and a durable handoff', () => {
    // Compiling SQLite takes minutes and is not ours to test: the binary compiled for this checkout serves.
    const binary = 'build/Release/better_sqlite3.node';
    mkdirSync(join(folder, 'node_modules/better-sqlite3/build/Release'), { recursive: true });
    copyFileSync(
      join(root, 'node_modules/better-sqlite3', binary),
      join(folder, 'node_modules/better-sqlite3', binary),
    );
    const listed = run('npx', ['--no-install', 'uhop', 'devices', '--json'], folder);
    expect(listed.status, listed.stderr).toBe(0);
    expect(JSON.stringify(JSON.parse(listed.stdout))).toContain('naive');
    const used = script(`
      import { openStore, dispatch, claim, status } from 'uhop/dhp';
      const store = await openStore('./store');
      const { id } = await dispatch(store, { taskKind: 'demo', inputs: { n: 1 }, outputSchema: { type: 'object' } });
      const held = await claim(store, id, { workerId: 'one' });
      await held.complete({ ok: true });
      console.log((await status(store, id)).state);
      await store.close();`);
    expect(used.status, used.stderr).toBe(0);
    expect(used.stdout.trim()).toBe('completed');
    expect(readdirSync(join(folder, 'store'))).toContain('dhp.sqlite');
  }, 120_000);
});
