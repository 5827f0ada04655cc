import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rowBlocks, sameBytes, sha256 } from '../../lib/cli/demo/files.ts';
import { recognise } from '../../lib/cli/demo/neighbours.ts';
import { bytes, duration, plural } from '../../lib/cli/format.ts';
import { table } from '../../lib/cli/table.ts';
import { folder, writeNpy } from './cli.ts';

describe('words', () => {
  test.each([
    [0, '0 s'],
    [4.2e-7, '420 ns'],
    [1.234e-5, '12.3 µs'],
    [0.0456, '45.6 ms'],
    [7.849, '7.85 s'],
    [185, '3 min 05 s'],
    [7800, '2 h 10 min'],
    [Number.POSITIVE_INFINITY, '—'],
  ])('%s s is %s', (seconds, words) => expect(duration(seconds)).toBe(words));

  test.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [256 * 2 ** 20, '256 MiB'],
    [1.5 * 2 ** 50, '1536 TiB'],
  ])('%s bytes are %s', (count, words) => expect(bytes(count)).toBe(words));

  test('one tile, two tiles', () =>
    expect([1, 2].map((count) => plural(count, 'tile'))).toEqual(['1 tile', '2 tiles']));

  test('a table is aligned, whatever is coloured in it', () => {
    const coloured = '\u001b[32myes\u001b[39m';
    const lines = table(
      [{ title: 'A' }, { title: 'NUMBER', align: 'right' }],
      [
        [coloured, '7'],
        ['no', '1234567'],
      ],
    ).split('\n');
    expect(lines).toEqual(['A     NUMBER', `${coloured}        7`, 'no   1234567']);
  });
});

describe('the demo’s checkers', () => {
  test('nearest neighbours are found from products alone', async () => {
    // Points 0, 10, 20 on a line, labelled 0, 1, 2, then two to classify: 9 (right) and 19 (labelled wrongly).
    const points = [0, 10, 20, 9, 19];
    const gram = Float32Array.from(points.flatMap((x) => points.map((y) => x * y)));
    const blocks = async function* (): AsyncGenerator<Float32Array> {
      yield gram.subarray(0, 10);
      yield gram.subarray(10);
    };
    const found = await recognise(blocks(), Uint8Array.of(0, 1, 2, 1, 0), 3);
    expect(found).toEqual({ train: 3, tested: 2, right: 1, accuracy: 0.5 });
  });

  test('one byte, anywhere, makes files different', async () => {
    await using place = await folder();
    const size = 5 * 1024 * 1024;
    const content = Buffer.alloc(size, 7);
    const original = join(place.path, 'original');
    const other = join(place.path, 'other');
    await writeFile(original, content);
    await writeFile(other, content);
    expect(await sameBytes(original, other)).toBe(true);
    expect(await sha256(original)).toBe(await sha256(other));
    for (const at of [0, 4 * 1024 * 1024, size - 1]) {
      const flipped = Buffer.from(content);
      flipped[at] = 8;
      await writeFile(other, flipped);
      expect(await sameBytes(original, other)).toBe(false);
      expect(await sha256(original)).not.toBe(await sha256(other));
    }
    await writeFile(other, content.subarray(0, size - 1));
    expect(await sameBytes(original, other)).toBe(false);
    expect(await sameBytes(other, original)).toBe(false);
  });

  test('a product is read in whole rows, in order', async () => {
    await using place = await folder();
    const n = 1500;
    const path = join(place.path, 'product.npy');
    await writeNpy(
      path,
      [n, n],
      Float32Array.from({ length: n * n }, (_, at) => at % 9973),
    );
    let at = 0;
    let blocks = 0;
    for await (const block of rowBlocks(path)) {
      expect(block.length % n).toBe(0);
      expect(block.every((value, index) => value === (at + index) % 9973)).toBe(true);
      at += block.length;
      blocks += 1;
    }
    expect(at).toBe(n * n);
    expect(blocks).toBeGreaterThan(1);
  });
});
