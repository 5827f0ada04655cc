import { JobError } from './errors.ts';
import { NpyFile } from './files.ts';
import type { InputFile } from './types.ts';

/** The input files of one job, opened together and closed together. */
export class JobFiles implements AsyncDisposable {
  readonly byName: ReadonlyMap<string, NpyFile>;

  private constructor(byName: ReadonlyMap<string, NpyFile>) {
    this.byName = byName;
  }

  /** Opens every file of `paths` (name → absolute path) and checks its header. */
  static async open(paths: Readonly<Record<string, string>>): Promise<JobFiles> {
    const byName = new Map<string, NpyFile>();
    try {
      for (const [name, path] of Object.entries(paths)) byName.set(name, await NpyFile.open(path));
      return new JobFiles(byName);
    } catch (error) {
      await closeAll(byName.values());
      throw error;
    }
  }

  /** Opens the pinned files and hashes each: `E_INPUT_CHANGED` when the content is not what was submitted. */
  static async openPinned(pinned: Readonly<Record<string, InputFile>>, signal?: AbortSignal): Promise<JobFiles> {
    const files = await reopen(pinned);
    try {
      for (const [name, { sha256 }] of Object.entries(pinned)) await files.named(name).assertIs(sha256, signal);
      return files;
    } catch (error) {
      await files.close();
      throw error;
    }
  }

  named(name: string): NpyFile {
    const file = this.byName.get(name);
    if (file === undefined) throw new JobError('E_SPEC', `/inputs/${name} of the job: got nothing, expected a file`);
    return file;
  }

  async close(): Promise<void> {
    await closeAll(this.byName.values());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A file that was good when it was pinned and is not now has changed. */
async function reopen(pinned: Readonly<Record<string, InputFile>>): Promise<JobFiles> {
  try {
    return await JobFiles.open(Object.fromEntries(Object.entries(pinned).map(([name, { path }]) => [name, path])));
  } catch (error) {
    if (!(error instanceof JobError) || error.code !== 'E_NPY') throw error;
    const message = `${error.message}; it was good when the job was submitted`;
    throw new JobError('E_INPUT_CHANGED', message, error.details, error);
  }
}

async function closeAll(files: Iterable<NpyFile>): Promise<void> {
  await Promise.all([...files].map((file) => file.close()));
}
