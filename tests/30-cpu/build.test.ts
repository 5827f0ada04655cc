import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../native/build.mjs', import.meta.url));

function build(env: Readonly<Record<string, string>>, args: readonly string[] = [], file: string = script) {
  const options = { env: { ...process.env, ...env }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], options);
  return { status, stdout, stderr };
}

const oldCMake = mkdtempSync(join(tmpdir(), 'uhop-cmake-'));
writeFileSync(join(oldCMake, 'cmake'), '#!/bin/sh\necho cmake version 3.18.4\n', { mode: 0o755 });
afterAll(() => rmSync(oldCMake, { recursive: true }));

describe('a build that cannot be', () => {
  it.each([
    ['without CMake', { PATH: '/nowhere' }, /CMake \(3\.25 or newer\) was not found/],
    ['with an old CMake', { PATH: `${oldCMake}:${process.env.PATH}` }, /needed, found cmake version 3\.18\.4/],
    ['without a compiler', { CXX: '/nowhere/c++' }, /no C\+\+20 compiler was found \(tried \/nowhere\/c\+\+\)/],
  ])('%s says so in one sentence and fails only when it must', (_, env, reason) => {
    const lenient = build(env);
    expect(lenient).toMatchObject({ status: 0, stdout: '' });
    expect(lenient.stderr).toMatch(reason);
    expect(lenient.stderr).toContain('npx uhop build');
    expect(lenient.stderr.trim().split('\n')).toHaveLength(1);
    const strict = build(env, ['--strict']);
    expect(strict.status).toBe(1);
    expect(strict.stderr).toMatch(reason);
  });

  it('without cmake-js says so too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'uhop-build-'));
    mkdirSync(join(folder, 'native'));
    const copy = join(folder, 'native', 'build.mjs');
    copyFileSync(script, copy);
    const { status, stderr } = build({}, [], copy);
    rmSync(folder, { recursive: true });
    expect(status).toBe(0);
    expect(stderr).toMatch(/cmake-js is not installed/);
  });

  it.each([[[]], [['--strict']]])('that is forbidden says so and is no failure (%j)', (args) => {
    const skipped = build({ UHOP_SKIP_BUILD: '1', PATH: '/nowhere' }, args);
    expect(skipped).toMatchObject({ status: 0, stdout: '' });
    expect(skipped.stderr).toMatch(/^uhop: the native addon was not built: UHOP_SKIP_BUILD is set\..*\n$/);
  });
});
