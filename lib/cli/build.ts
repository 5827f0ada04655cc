import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { Failure } from './failure.ts';
import { outputOf } from './output.ts';

const EXAMPLES = `
Needs CMake and a C++20 compiler; on Debian: apt-get install g++ make cmake.

Examples:
  uhop build
  uhop build && uhop doctor`;

/** `uhop build` */
export function define(): Command {
  return new Command('build')
    .description('Build the native addon, as `npm install` does, and fail loudly where that stays quiet.')
    .addHelpText('after', EXAMPLES)
    .action(build);
}

async function build(_options: unknown, command: Command): Promise<void> {
  const output = outputOf(command);
  const root = dirname(createRequire(import.meta.url).resolve('uhop/package.json'));
  const begun = performance.now();
  // Asked for by name, the build is not skipped.
  const { UHOP_SKIP_BUILD: _skip, ...env } = process.env;
  const child = spawn(process.execPath, [join(root, 'native/build.mjs'), '--strict'], {
    cwd: root,
    env,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Failure('E_BUILD', 'the native addon was not built', '`uhop doctor` says what is missing');
  const seconds = (performance.now() - begun) / 1000;
  output.data(`built in ${seconds.toFixed(1)} s`);
  output.document({ built: true, seconds });
}
