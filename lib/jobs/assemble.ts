/**
 * From tile blobs to the output file, in bounded memory; nothing half-written is ever at the output path.
 * Trigger points: assemble:start, assemble:before-rename, assemble:after-rename.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { trigger } from '../dhp/trigger.ts';
import type { BlobStore } from '../dhp/types.ts';
import { runLength, runOffsets } from './box.ts';
import type { DoneTile } from './chain.ts';
import { isDamage } from './errors.ts';
import { formatHeader, ITEM_BYTES } from './npy.ts';
import { checkOutput, outputError, temporaryPath, temporaryPrefix } from './output.ts';
import { outputBytes } from './result.ts';
import type { TilePlan } from './types.ts';

const HASH_CHUNK_BYTES = 4 * 1024 * 1024;

export interface Assembly {
  readonly id: string;
  readonly fence: bigint;
  readonly plan: TilePlan;
  readonly output: string;
  readonly inputs: readonly string[];
  /** Every tile of the plan. */
  readonly done: ReadonlyMap<number, DoneTile>;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
  /** The hash that must come out, where it is known. */
  readonly expected?: string;
}

/** The finished file's hash, or the tiles whose blobs are missing or damaged, each with the reason: then nothing was written. */
export type Assembled =
  | { readonly sha256: string }
  | { readonly damaged: readonly { readonly index: number; readonly code: string }[] };

/**
 * Writes the tiles into a temporary file beside the output, makes it durable, and renames it. Run again after a crash at any
 * point it produces the same file. `E_OUTPUT` when the file system refuses.
 */
export async function assemble(assembly: Assembly): Promise<Assembled> {
  const { id, fence, output } = assembly;
  trigger('assemble:start');
  await checkOutput(output, assembly.inputs);
  await removeStale(output, id);
  const temporary = temporaryPath(output, id, fence);
  try {
    const file = await open(temporary, 'wx+');
    try {
      const damaged = await writeTiles(file, assembly);
      if (damaged.length > 0) return { damaged };
      await file.sync();
      const sha256 = await hash(file, outputBytes(assembly.plan), assembly.signal);
      if (sha256 !== (assembly.expected ?? sha256)) {
        throw outputError(output, `its tiles give SHA-256 ${sha256}, the result says ${assembly.expected}`);
      }
      trigger('assemble:before-rename');
      assembly.signal.throwIfAborted();
      await rename(temporary, output);
      await syncDirectory(dirname(output));
      trigger('assemble:after-rename');
      return { sha256 };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw outputError(output, `${(error as Error).message}; free or allow it and run the job again`, error);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeTiles(file: FileHandle, assembly: Assembly): Promise<{ index: number; code: string }[]> {
  const { plan, done, blobs, signal } = assembly;
  const header = formatHeader(plan.dtype, plan.outShape);
  await writeAll(file, header, 0);
  const damaged: { index: number; code: string }[] = [];
  for (const [index, { blob }] of done) {
    signal.throwIfAborted();
    try {
      const bytes = await blobs.get(blob.sha256);
      if (damaged.length === 0) await writeTile(file, plan, index, header.length, bytes);
    } catch (error) {
      if (!isDamage(error)) throw error;
      damaged.push({ index, code: error.code });
    }
  }
  return damaged;
}

async function writeTile(
  file: FileHandle,
  plan: TilePlan,
  index: number,
  from: number,
  bytes: Uint8Array,
): Promise<void> {
  const { out } = plan.tile(index);
  const item = ITEM_BYTES[plan.dtype];
  const run = runLength(plan.view, out) * item;
  let at = 0;
  for (const offset of runOffsets(plan.view, out)) {
    await writeAll(file, bytes.subarray(at, at + run), from + offset * item);
    at += run;
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.byteLength - done, position + done);
    done += bytesWritten;
  }
}

async function hash(file: FileHandle, bytes: number, signal: AbortSignal): Promise<string> {
  const digest = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.min(HASH_CHUNK_BYTES, bytes));
  for (let at = 0; at < bytes; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) throw new Error(`the temporary file of the output ends at ${at} of ${bytes} bytes`);
    digest.update(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
  return digest.digest('hex');
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Temporary files of earlier claims, whose processes died over them. */
async function removeStale(output: string, id: string): Promise<void> {
  const directory = dirname(output);
  const prefix = temporaryPrefix(output, id);
  const names = (await readdir(directory)).filter((name) => name.startsWith(prefix) && name.endsWith('.tmp'));
  await Promise.all(names.map((name) => rm(join(directory, name), { force: true })));
}
