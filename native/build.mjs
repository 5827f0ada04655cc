/**
 * Compiles the addon with cmake-js into build/Release/uhop.node.
 *
 *   node native/build.mjs            npm's install script: a failure is one sentence, never a failed install
 *   node native/build.mjs --strict   the same, with exit code 1 on failure
 *
 * UHOP_SKIP_BUILD=1 forbids it, which is no failure.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { argv, env, execPath, exit, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const addon = join(root, 'build', 'Release', 'uhop.node');

/** The first line of what a tool says of its version; undefined when it does not run. */
function versionOf(command) {
  const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.split('\n')[0] : undefined;
}

function missingTool() {
  const cmake = versionOf('cmake');
  if (cmake === undefined) return 'CMake (3.25 or newer) was not found';
  const [major, minor] = (/\d+\.\d+/.exec(cmake)?.[0] ?? '0.0').split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 25)) return `CMake 3.25 or newer is needed, found ${cmake}`;
  const compilers = env.CXX ? [env.CXX] : ['c++', 'g++', 'clang++'];
  return compilers.some(versionOf) ? undefined : `no C++20 compiler was found (tried ${compilers.join(', ')})`;
}

function cmakeJs() {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve('cmake-js/package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  return join(dirname(manifest), typeof bin === 'string' ? bin : bin['cmake-js']);
}

/** Why there is no addon afterwards; undefined when there is. */
function build(stdio) {
  const missing = missingTool();
  if (missing) return missing;
  let script;
  try {
    script = cmakeJs();
  } catch {
    return 'the package cmake-js is not installed';
  }
  const args = [script, 'compile', '--directory', root, '--parallel', '2'];
  const { status } = spawnSync(execPath, args, { cwd: root, stdio });
  return status === 0 && existsSync(addon) ? undefined : 'the compilation failed';
}

const LATER = 'The package works without it on its other paths; `npx uhop build` compiles it later.';

function main() {
  const strict = argv.includes('--strict');
  const skipped = env.UHOP_SKIP_BUILD === '1';
  const reason = skipped ? 'UHOP_SKIP_BUILD is set' : build(strict ? ['ignore', 2, 2] : 'ignore');
  if (reason === undefined) return 0;
  stderr.write(`uhop: the native addon was not built: ${reason}.${strict ? '' : ` ${LATER}`}\n`);
  return strict && !skipped ? 1 : 0;
}

exit(main());
