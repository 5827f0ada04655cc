import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { NpyFile } from '../../jobs/files.ts';
import { formatHeader } from '../../jobs/npy.ts';

const CHUNK_BYTES = 4 * 1024 * 1024;

/** Writes a dense f32 array as a `.npy` file. */
export async function writeNpy(path: string, data: Float32Array, shape: readonly number[]): Promise<void> {
  const body = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  await writeFile(path, Buffer.concat([formatHeader('f32', shape), body]));
}

/** The rows of a square f32 `.npy` file in order, some whole rows at a time; each block is valid until the next. */
export async function* rowBlocks(path: string): AsyncGenerator<Float32Array> {
  await using file = await NpyFile.open(path);
  const { shape } = file.header;
  const [rows = 0, columns = 0] = shape;
  const step = Math.max(1, Math.floor(CHUNK_BYTES / (columns * Float32Array.BYTES_PER_ELEMENT)));
  const buffer = new Float32Array(step * columns);
  for (let row = 0; row < rows; row += step) {
    const extent = [Math.min(step, rows - row), columns];
    const block = buffer.subarray(0, Math.min(step, rows - row) * columns);
    await file.readBox(shape, { start: [row, 0], extent }, new Uint8Array(block.buffer, 0, block.byteLength));
    yield block;
  }
}

/** SHA-256 of a whole file, streamed. */
export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), hash);
  return hash.digest('hex');
}

/** Whether two files hold the same bytes, each one read. */
export async function sameBytes(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([open(one), open(other)]);
  try {
    const mine = Buffer.alloc(CHUNK_BYTES);
    const theirs = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const [m, t] = await Promise.all([fill(a, mine), fill(b, theirs)]);
      if (!mine.subarray(0, m).equals(theirs.subarray(0, t))) return false;
      if (m === 0) return true;
    }
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
}

async function fill(file: FileHandle, buffer: Buffer): Promise<number> {
  let filled = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled);
    filled += bytesRead;
    if (bytesRead === 0 || filled === buffer.length) return filled;
  }
}
