import { NpyFile } from '../../jobs/files.ts';
import { UsageError } from '../failure.ts';
import { type Images, loadDigits } from './digits.ts';

/** The digits, or the first `limit` of a user's own images: f32 [n, h, w] (or [n, h·h]), and their labels as f32 [n]. */
export async function loadImages(limit: number, data?: string, labels?: string): Promise<Images> {
  if (data === undefined && labels === undefined) return loadDigits(limit);
  if (data === undefined || labels === undefined) {
    throw new UsageError('--data and --labels belong together', 'give both .npy files, or neither');
  }
  const pixels = await readF32(data, limit);
  const classes = await readF32(labels, limit);
  const [count = 0, height, width] = squared(pixels.shape, data);
  if (classes.shape.length !== 1 || classes.shape[0] !== count) {
    throw new UsageError(
      `${labels} has shape ${classes.shape.join('×')}, expected one label for each of ${count} images`,
      HINT,
    );
  }
  return { source: data, pixels: pixels.values, labels: Uint8Array.from(classes.values), count, height, width };
}

const HINT = 'save images as float32 (n, height, width) in [0, 1] and labels as float32 (n,), shuffled';

async function readF32(
  path: string,
  limit: number,
): Promise<{ readonly values: Float32Array; readonly shape: number[] }> {
  await using file = await NpyFile.open(path);
  const { shape, dtype } = file.header;
  if (dtype !== 'f32' || shape.length === 0) {
    throw new UsageError(`${path} is ${dtype} of shape ${shape.join('×')}, expected f32 with one row per image`, HINT);
  }
  const extent = [Math.min(limit, shape[0] ?? 0), ...shape.slice(1)];
  const values = new Float32Array(extent.reduce((product, each) => product * each, 1));
  await file.readBox(shape, { start: extent.map(() => 0), extent }, new Uint8Array(values.buffer));
  return { values, shape: extent };
}

function squared(shape: readonly number[], path: string): readonly [count: number, height: number, width: number] {
  const [count = 0, height = 0, width] = shape;
  if (shape.length === 3 && width !== undefined) return [count, height, width];
  const side = Math.sqrt(height);
  if (shape.length === 2 && Number.isInteger(side)) return [count, side, side];
  throw new UsageError(`${path} has shape ${shape.join('×')}, expected images`, HINT);
}
