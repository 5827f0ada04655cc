/** Input files: opened once, hashed as a stream, read by blocks, never whole. */
import { createHash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { elements, runLength, runOffsets } from './box.ts';
import { JobError } from './errors.ts';
import { headerSpan, ITEM_BYTES, type NpyHeader, parseHeader, PREAMBLE_BYTES } from './npy.ts';
import type { Box } from './types.ts';

const HASH_CHUNK_BYTES = 4 * 1024 * 1024;
/** Runs no further apart than this are read in one go: skipping costs a system call, reading on costs less. */
const MAX_GAP_BYTES = 32 * 1024;
const MAX_SPAN_BYTES = 4 * 1024 * 1024;
/** Linux moves at most 2^31 − 4096 bytes per call. */
const MAX_READ_BYTES = 1024 * 1024 * 1024;

/** An open `.npy` file with its checked header. */
export class NpyFile implements AsyncDisposable {
  readonly path: string;
  readonly header: NpyHeader;
  readonly bytes: number;
  readonly #handle: FileHandle;
  /** Content hash and the stamp of the file it was computed from; null before the first hashing. */
  #known: { readonly sha256: string; readonly stamp: string } | null = null;
  #scratch = Buffer.alloc(0);

  private constructor(path: string, handle: FileHandle, header: NpyHeader, bytes: number) {
    this.path = path;
    this.header = header;
    this.bytes = bytes;
    this.#handle = handle;
  }

  /**
   * Opens and checks the header; `E_INPUT` when there is no such file, `E_NPY` when its content is not usable.
   * Opened without blocking, because a plain open of a pipe waits for its writer.
   */
  static async open(path: string): Promise<NpyFile> {
    let handle: FileHandle;
    try {
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (cause) {
      throw new JobError('E_INPUT', `${path} cannot be opened: ${(cause as Error).message}`, { path }, cause);
    }
    try {
      const stats = await handle.stat();
      if (!stats.isFile())
        throw new JobError('E_INPUT', `${path} is not a regular file; expected a .npy file`, { path });
      return new NpyFile(path, handle, await readHeader(handle, stats.size, path), stats.size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** SHA-256 of the whole file; computed again only when the file was touched since. */
  async hash(signal?: AbortSignal): Promise<string> {
    const before = await this.#stamp();
    if (this.#known?.stamp === before) return this.#known.sha256;
    const hash = createHash('sha256');
    const chunk = Buffer.allocUnsafe(Math.min(HASH_CHUNK_BYTES, this.bytes));
    for (let at = 0; at < this.bytes; ) {
      signal?.throwIfAborted();
      const part = chunk.subarray(0, Math.min(chunk.length, this.bytes - at));
      await this.#read(part, at);
      hash.update(part);
      at += part.length;
    }
    if ((await this.#stamp()) !== before) throw this.#changed('was written to while it was read');
    this.#known = { sha256: hash.digest('hex'), stamp: before };
    return this.#known.sha256;
  }

  /** `E_INPUT_CHANGED` unless the content is still the one with this hash. */
  async assertIs(sha256: string, signal?: AbortSignal): Promise<void> {
    const got = await this.hash(signal);
    if (got !== sha256) throw this.#changed(`has SHA-256 ${got}, the job was submitted with ${sha256}`);
  }

  /** Reads the elements of `box`, a block of the file's array seen as `shape`, into `into`, which they fill exactly. */
  async readBox(shape: readonly number[], box: Box, into: Uint8Array): Promise<void> {
    const item = ITEM_BYTES[this.header.dtype];
    if (elements(box.extent) * item !== into.byteLength) throw new RangeError('the buffer does not fit the block');
    const run = runLength(shape, box) * item;
    let group: number[] = [];
    let done = 0;
    const flush = async (): Promise<void> => {
      await this.#readRuns(group, run, into.subarray(done, done + group.length * run));
      done += group.length * run;
      group = [];
    };
    for (const offset of runOffsets(shape, box)) {
      const start = this.header.offset + offset * item;
      const first = group[0] ?? start;
      const last = group.at(-1) ?? start;
      const near = start - (last + run) <= MAX_GAP_BYTES && start + run - first <= MAX_SPAN_BYTES;
      if (group.length > 0 && !near) await flush();
      group.push(start);
    }
    if (group.length > 0) await flush();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #readRuns(starts: readonly number[], run: number, into: Uint8Array): Promise<void> {
    const first = starts[0] as number;
    if (starts.length === 1) return this.#read(into, first);
    const length = (starts.at(-1) as number) + run - first;
    if (this.#scratch.length < length) this.#scratch = Buffer.allocUnsafeSlow(length);
    const span = this.#scratch.subarray(0, length);
    await this.#read(span, first);
    starts.forEach((start, i) => into.set(span.subarray(start - first, start - first + run), i * run));
  }

  async #read(into: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < into.byteLength; ) {
      const length = Math.min(into.byteLength - done, MAX_READ_BYTES);
      const { bytesRead } = await this.#handle.read(into, done, length, position + done);
      if (bytesRead === 0) throw this.#changed('became shorter while it was read');
      done += bytesRead;
    }
  }

  /** Inode and modification time: any write alters it. */
  async #stamp(): Promise<string> {
    const stats = await this.#handle.stat({ bigint: true });
    if (Number(stats.size) !== this.bytes) throw this.#changed(`has ${stats.size} bytes, had ${this.bytes}`);
    return [stats.dev, stats.ino, stats.mtimeNs].join(':');
  }

  #changed(how: string): JobError {
    const message = `${this.path} ${how}; restore the file, or submit a job with the new one`;
    return new JobError('E_INPUT_CHANGED', message, { path: this.path });
  }
}

async function readHeader(handle: FileHandle, fileBytes: number, path: string): Promise<NpyHeader> {
  const preamble = Buffer.alloc(Math.min(PREAMBLE_BYTES, fileBytes));
  await handle.read(preamble, 0, preamble.length, 0);
  const { start, length } = headerSpan(preamble, path);
  if (start + length > fileBytes) {
    throw new JobError('E_NPY', `${path} ends inside its header (${fileBytes} bytes); write it again`, { path });
  }
  const text = Buffer.alloc(length);
  await handle.read(text, 0, length, start);
  return parseHeader(text.toString(preamble.readUInt8(6) === 3 ? 'utf8' : 'latin1'), start + length, fileBytes, path);
}
