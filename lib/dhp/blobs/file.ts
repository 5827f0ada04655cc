import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { DhpError } from '../errors.ts';
import { SHA256_HEX } from '../protocol/record.ts';
import type { BlobStore } from '../types.ts';
import { blobHash, checkBlobName } from './names.ts';

/**
 * Blobs as files: `<root>/ab/<sha256>`, written to `<root>/tmp` first, flushed, renamed, the directory flushed. A file
 * whose bytes no longer fit its name moves to `<root>/quarantine` and is never served.
 */
export class FileBlobs implements BlobStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(bytes: Uint8Array): Promise<{ readonly sha256: string; readonly bytes: number }> {
    const sha256 = blobHash(bytes);
    const answer = { sha256, bytes: bytes.byteLength };
    try {
      if (!(await this.#keep(sha256))) await this.#write(sha256, bytes);
      // Also for a kept file: whoever renamed it may have died before this.
      await flushDirectory(this.#directoryOf(sha256));
      return answer;
    } catch (error) {
      throw storeError(error);
    }
  }

  async get(sha256: string): Promise<Uint8Array> {
    checkBlobName(sha256);
    const bytes = await this.#read(sha256);
    if (bytes === null) throw new DhpError('E_BLOB_MISSING', `there is no blob ${sha256}`, { sha256 });
    if (blobHash(bytes) === sha256) return bytes;
    const resting = join(await this.#directory('quarantine'), `${sha256}.${randomUUID()}`);
    await rename(this.#pathOf(sha256), resting).catch(ignoreAbsent);
    throw new DhpError(
      'E_BLOB_CORRUPT',
      `the bytes of blob ${sha256} do not fit its name; they are now at ${resting}`,
      {
        sha256,
        quarantined: resting,
      },
    );
  }

  async has(sha256: string): Promise<boolean> {
    checkBlobName(sha256);
    return this.#renew(sha256);
  }

  async collect(isNamed: (sha256: string) => Promise<boolean>, olderThanMs: number): Promise<number> {
    let removed = 0;
    for (const prefix of await entries(this.#root)) {
      if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
      for (const sha256 of await entries(join(this.#root, prefix))) {
        if (!SHA256_HEX.test(sha256) || !(await this.#isOld(this.#pathOf(sha256), olderThanMs))) continue;
        if (!(await isNamed(sha256)) && (await this.#remove(sha256, olderThanMs))) removed += 1;
      }
    }
    for (const name of await entries(join(this.#root, 'tmp'))) {
      const path = join(this.#root, 'tmp', name);
      if (await this.#isOld(path, olderThanMs)) await rm(path, { force: true });
    }
    return removed;
  }

  /** True when a good file is there; its new time then protects it from a collection that is under way. */
  async #keep(sha256: string): Promise<boolean> {
    const present = await this.#read(sha256);
    return present !== null && blobHash(present) === sha256 && this.#renew(sha256);
  }

  async #renew(sha256: string): Promise<boolean> {
    const now = new Date();
    return (await utimes(this.#pathOf(sha256), now, now).catch(ignoreAbsent)) !== null;
  }

  async #write(sha256: string, bytes: Uint8Array): Promise<void> {
    const tmp = join(await this.#directory('tmp'), `${sha256}.${randomUUID()}`);
    try {
      const file = await open(tmp, 'wx');
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#directory(sha256.slice(0, 2));
      await rename(tmp, this.#pathOf(sha256));
    } catch (error) {
      await rm(tmp, { force: true });
      throw error;
    }
  }

  /** Moves the blob out of sight before it looks again, so that a put in between either saved it or writes it anew. */
  async #remove(sha256: string, olderThanMs: number): Promise<boolean> {
    const doomed = join(await this.#directory('tmp'), `${sha256}.${randomUUID()}`);
    if ((await rename(this.#pathOf(sha256), doomed).catch(ignoreAbsent)) === null) return false;
    const ms = await age(doomed);
    if (ms !== null && ms <= olderThanMs) {
      await rename(doomed, this.#pathOf(sha256)).catch(ignoreAbsent);
      return false;
    }
    await rm(doomed, { force: true });
    return true;
  }

  async #read(sha256: string): Promise<Uint8Array | null> {
    const bytes = await readFile(this.#pathOf(sha256)).catch(ignoreAbsent);
    return bytes === null ? null : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  async #isOld(path: string, olderThanMs: number): Promise<boolean> {
    const ms = await age(path);
    return ms !== null && ms > olderThanMs;
  }

  #directoryOf(sha256: string): string {
    return join(this.#root, sha256.slice(0, 2));
  }

  #pathOf(sha256: string): string {
    return join(this.#directoryOf(sha256), sha256);
  }

  async #directory(name: string): Promise<string> {
    const path = join(this.#root, name);
    try {
      if ((await mkdir(path, { recursive: true })) !== undefined) await flushDirectory(this.#root);
      return path;
    } catch (error) {
      throw storeError(error);
    }
  }
}

async function entries(path: string): Promise<readonly string[]> {
  return (await readdir(path).catch(ignoreAbsent)) ?? [];
}

async function age(path: string): Promise<number | null> {
  const found = await stat(path).catch(ignoreAbsent);
  return found === null ? null : Date.now() - found.mtimeMs;
}

async function flushDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function ignoreAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw storeError(error);
}

function storeError(error: unknown): unknown {
  if (error instanceof DhpError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new DhpError(
      'E_STORE_FULL',
      `no room for the blob: ${message}; free some space and write it again`,
      {},
      error,
    );
  }
  return new DhpError('E_STORE', `the blob store failed: ${message}`, {}, error);
}
