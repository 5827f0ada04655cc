import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type JobSpec, parseSpec } from '../../jobs/index.ts';

/** The spec in a file, or on stdin for `-`, and the directory its paths are relative to: the file's own. */
export async function readSpec(path: string): Promise<{ readonly spec: JobSpec; readonly cwd: string }> {
  const source = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8');
  let json: unknown;
  try {
    json = JSON.parse(source);
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
  return { spec: parseSpec(json), cwd: path === '-' ? process.cwd() : dirname(resolve(path)) };
}
