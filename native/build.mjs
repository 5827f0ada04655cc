/**
 * Compiles the addon with cmake-js into build/Release/uhop.node.
 *
 *   node native/build.mjs            npm's install script: a failure is one sentence, never a failed install
 *   node native/build.mjs --strict   the same, with exit code 1 on failure
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { argv, env, execPath, exit, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const output = join(root, 'build', 'Release', 'uhop.node');

const works = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;

function missingTool() {
  if (!works('cmake')) return 'CMake (3.25 or newer) was not found';
  const compilers = env.CXX ? [env.CXX] : ['c++', 'g++', 'clang++'];
  return compilers.some(works) ? null : `no C++20 compiler was found (tried ${compilers.join(', ')})`;
}

function cmakeJs() {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve('cmake-js/package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  return join(dirname(manifest), typeof bin === 'string' ? bin : bin['cmake-js']);
}

/**
 * Builds the addon. With `quiet` the compiler's output is kept and shown only where the build fails.
 * @param {{ quiet?: boolean }} [options]
 * @returns {{ ok: boolean, output: string, reason?: string, log?: string }}
 */
export function build({ quiet = false } = {}) {
  const missing = missingTool();
  if (missing) return { ok: false, output, reason: missing };
  let script;
  try {
    script = cmakeJs();
  } catch {
    return { ok: false, output, reason: 'the package cmake-js is not installed' };
  }
  const run = spawnSync(execPath, [script, 'compile', '--directory', root, '--parallel', '2'], {
    cwd: root,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 2, 2],
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (run.status === 0 && existsSync(output)) return { ok: true, output };
  const log = quiet ? `${run.stdout ?? ''}${run.stderr ?? ''}` : undefined;
  return { ok: false, output, reason: 'the compilation failed', ...(log === undefined ? {} : { log }) };
}

function main() {
  const strict = argv.includes('--strict');
  if (env.UHOP_SKIP_BUILD === '1') return 0;
  const result = build({ quiet: !strict });
  if (result.ok) return 0;
  const later = strict ? '' : ' The package works without it on its other paths; `npx uhop build` compiles it later.';
  stderr.write(`uhop: the native addon was not built: ${result.reason}.${later}\n`);
  return strict ? 1 : 0;
}

if (argv[1] && fileURLToPath(import.meta.url) === argv[1]) exit(main());
