import { spawnSync } from 'node:child_process';
import { appendFileSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { tempDir } from './handoffs.ts';

/** A file system of its own of `bytes` bytes, to be filled; or in one sentence why there is none. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Leaves about this many bytes free. */
  fill(leaving: number): void;
  makeRoom(): Promise<void>;
}

async function smallDisk(bytes: number): Promise<SmallDisk | string> {
  const directory = await tempDir();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', directory.path], {
    encoding: 'utf8',
  });
  if (mounted.status !== 0) {
    await directory[Symbol.asyncDispose]();
    return `a small file system cannot be mounted here: ${mounted.error?.message ?? mounted.stderr.trim()}`;
  }
  const ballast = join(directory.path, 'ballast');
  return {
    path: directory.path,
    fill(leaving) {
      const { bavail, bsize } = statfsSync(directory.path);
      appendFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leaving)));
    },
    makeRoom: () => rm(ballast),
    async [Symbol.asyncDispose]() {
      // Lazily: a heartbeat thread that waits for the next claim still has its store open.
      spawnSync('umount', ['--lazy', directory.path]);
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** The same for a test, which is skipped, and says so, where there can be none. */
export async function mountedDisk(bytes: number, { skip }: TestContext): Promise<SmallDisk> {
  const disk = await smallDisk(bytes);
  if (typeof disk !== 'string') return disk;
  console.warn(disk);
  return skip(disk);
}
