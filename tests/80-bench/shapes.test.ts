import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { cases, shapes, suites } from '../support/bench.ts';

const read = (text: string) => shapes.parseShapes(text, 'some.txt');
const folder = fileURLToPath(new URL('../../bench/shapes', import.meta.url));

describe('a shapes file', () => {
  it('is one call a line, with comments', () => {
    const text =
      '# products\nmatmul 2x3   3x4 transposeB # the last\n\nconv2d 1x3x8x8 4x3x1x1 stride=2 nhwc\nrelu 7 in-place';
    expect(read(text)).toEqual([
      {
        text: 'matmul 2x3 3x4 transposeB',
        op: 'matmul',
        operands: [
          [2, 3],
          [3, 4],
        ],
        flags: ['transposeB'],
        numbers: {},
      },
      {
        ...{ text: 'conv2d 1x3x8x8 4x3x1x1 stride=2 nhwc', op: 'conv2d' },
        ...{
          operands: [
            [1, 3, 8, 8],
            [4, 3, 1, 1],
          ],
          flags: ['nhwc'],
          numbers: { stride: 2 },
        },
      },
      { text: 'relu 7 in-place', op: 'relu', operands: [[7]], flags: ['in-place'], numbers: {} },
    ]);
  });

  it.each([
    ['matmul 2x3', 'matmul needs 2 shapes, got 1'],
    ['matmul 2x3 3xN', "'3xN' is no shape such as 64x2048"],
    ['pool 2x3', "'pool' is none of matmul, conv2d, relu"],
    ['relu 3 fast', /^some\.txt:2: 'fast' is none of transposeA, .*, stride=N, pad=N, groups=N$/],
    ['conv2d 1x1x1x1 1x1x1x1 pad=-1', /'pad=-1' is none of/],
    ['conv2d 1x1x1x1 1x1x1x1 pad', /'pad' is none of/],
    ['matmul 2x2 2x2 toString', /'toString' is none of/],
  ])('that holds %s is refused with its line', (line, reason) => {
    const refused = typeof reason === 'string' ? `some.txt:2: ${reason}` : reason;
    expect(() => read(`# one\n${line}\n`)).toThrow(refused);
  });

  it.each(suites(2).map(({ name, shapes: file }) => [file ?? name]))('%s holds calls that can be made', (name) => {
    const all = shapes.readShapes(name).map(cases.caseOf);
    expect(all.length).toBeGreaterThan(1);
    expect(new Set(all.map(({ label }) => label)).size).toBe(all.length);
  });

  it('belongs to a suite', () => {
    const files = readdirSync(folder).map((file) => file.replace('.txt', ''));
    expect(new Set(suites(2).map(({ name, shapes: file }) => file ?? name))).toEqual(new Set(files));
  });
});
