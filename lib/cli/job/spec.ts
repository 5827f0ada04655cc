import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type JobSpec, parseSpec } from '../../jobs/index.ts';

/** What a spec may hold, for the help of every command that takes one. */
export const SPEC_HELP = `
Job spec (JSON; paths in it are relative to the file):
  op         matmul | conv2d | relu
  inputs     .npy files of <f2, <f4 or <f8:  a, b, bias?  |  x, w, bias?  |  x
  attrs?     transposeA, transposeB, activation  |  stride, padding, dilation, groups, layout, activation
  output     the .npy file to write
  tile?      rows, cols  |  images, channels, rows  |  elements        (default: below a second of work)
  verify?    none | recompute: compute each tile on a second path as well
  numerics?  tolerant | exact: go on only by the path that began
  budget?    max_attempts, max_wall_ms, max_steps, …
  nonce?     any string: the same job once more
`;

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
