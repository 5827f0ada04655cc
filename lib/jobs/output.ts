import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { JobError } from './errors.ts';

/**
 * Checks that a file could be written at `path`: `E_OUTPUT` when its directory is missing or closed to this process, when
 * something other than a file is there, or when it is one of the inputs, which the output would overwrite.
 */
export async function checkOutput(path: string, inputs: readonly string[]): Promise<void> {
  const directory = dirname(path);
  try {
    if (!(await stat(directory)).isDirectory()) throw new Error(`${directory} is not a directory`);
    await access(directory, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw outputError(path, `expected a directory that can be written to: ${(cause as Error).message}`, cause);
  }
  const present = await stat(path).catch(() => null);
  if (present === null) return;
  if (!present.isFile()) throw outputError(path, 'something other than a file is there; expected a file or nothing');
  for (const input of inputs) {
    const read = await stat(input).catch(() => null);
    if (read?.dev === present.dev && read.ino === present.ino) {
      throw outputError(path, `it is the input ${input}; expected a path of its own`);
    }
  }
}

/** Where the output of one claim is written before it is renamed: in the same directory, never shared with another claim. */
export function temporaryPath(output: string, id: string, fence: bigint): string {
  return join(dirname(output), `${temporaryPrefix(output, id)}${fence}.tmp`);
}

/** What the temporary files of all claims of one job begin with. */
export function temporaryPrefix(output: string, id: string): string {
  return `.${basename(output)}.${id.slice(0, 15)}.`;
}

export function outputError(path: string, why: string, cause?: unknown): JobError {
  return new JobError('E_OUTPUT', `cannot write the output ${path}: ${why}`, { path }, cause);
}
