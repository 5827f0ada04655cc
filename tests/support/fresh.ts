import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INDEX = new URL('../../dist/lib/index.js', import.meta.url);

/**
 * What `body` returns, as JSON, in a process of its own with that environment. `body` is the text of an async function's
 * body and sees the package as `uhop` and every warning so far as `warnings`.
 */
export async function inFreshProcess(
  body: string,
  env: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<unknown> {
  const script = `
    const warnings = [];
    process.on('warning', ({ code, message }) => warnings.push({ code, message }));
    const uhop = await import(${JSON.stringify(INDEX.href)});
    const answer = await (async () => { ${body} })();
    await new Promise(setImmediate);
    process.stdout.write(JSON.stringify({ answer, warnings }));`;
  const { UHOP_BACKEND: _backend, UHOP_DISABLE: _disable, UHOP_NATIVE_PATH: _path, ...rest } = process.env;
  const { stdout } = await run(process.execPath, ['--no-warnings', ...flags, '--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('.', INDEX)),
    env: { ...rest, ...env },
  });
  return JSON.parse(stdout);
}
