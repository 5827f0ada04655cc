import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobError, runJob, submitJob } from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { scratch } from '../support/jobs.ts';
import { bytesOf, dictOf, npyBytes, readNpy, writeNpy } from '../support/npy.ts';
import { randomFloats } from '../support/numbers.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore('memory:');
});
afterAll(() => store.close());

const floats = bytesOf(Float32Array.from([1, -2, 3, -4, 5, -6]));

/** Submits a relu job on a file with these bytes. */
async function submit(folder: string, bytes: Uint8Array): Promise<unknown> {
  writeFileSync(join(folder, 'x.npy'), bytes);
  return submitJob(store, { op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy' }, { cwd: folder }).catch(
    (error: unknown) => error,
  );
}

describe('a .npy file', () => {
  const good = npyBytes(dictOf('<f4', [2, 3]), floats);
  const dict = dictOf('<f4', [2, 3]);

  it.each([
    ['is empty', Buffer.alloc(0), /does not begin with/],
    ['is something else', Buffer.from('PK\x03\x04, a zip of arrays'), /does not begin with the bytes \\x93NUMPY/],
    ['ends inside its preamble', good.subarray(0, 8), /ends inside its header \(8 bytes\)/],
    ['ends inside its header', good.subarray(0, 40), /ends inside its header \(40 bytes\)/],
    ['has an unknown version', npyBytes(dict, floats, 4), /format version 4\.0; expected 1\.0, 2\.0 or 3\.0/],
    ['is truncated', good.subarray(0, -1), /truncated: shape \(2, 3\) of <f4 needs \d+ bytes .* the file has \d+/],
    ['has bytes after its data', Buffer.concat([good, Buffer.alloc(1)]), /has bytes after its data/],
    ['has a shape that does not fit', npyBytes(dictOf('<f4', [3, 3]), floats), /truncated: shape \(3, 3\)/],
    ['is in Fortran order', npyBytes(dictOf('<f4', [2, 3], true), floats), /Fortran order.*ascontiguousarray/],
    ['is big-endian', npyBytes(dictOf('>f4', [2, 3]), floats), /'>f4', which is big-endian; expected <f2, <f4 or <f8/],
    ['holds integers', npyBytes(dictOf('<i4', [2, 3]), floats), /'<i4', which is not supported.*astype/],
    ['holds objects', npyBytes(dictOf('|O', [2, 3]), floats), /'\|O', which is not supported/],
    ['is structured', npyBytes(dict.replace("'<f4'", "[('x', '<f4')]"), floats), /structured dtype/],
    ['has a malformed header', npyBytes(dict.replace(': False', ': __import__("os")'), floats), /malformed header/],
    ['has text after its header', npyBytes(`${dict} + 1`, floats), /malformed header \(text after the end/],
    ['repeats a key', npyBytes(dict.replace('}', "'descr': '<f8'}"), floats), /key 'descr' given twice/],
    [
      'lacks a key',
      npyBytes("{'descr': '<f4', 'shape': (2, 3)}", floats),
      /a header with descr, shape; expected exactly/,
    ],
    ['has one key more', npyBytes(dict.replace('}', "'extra': 1}"), floats), /with descr, extra, fortran_order, shape/],
    [
      'has a negative extent',
      npyBytes(dict.replace('(2, 3)', '(-2, -3)'), floats),
      /no tuple of non-negative integers/,
    ],
    ['has an extent that is no number', npyBytes(dict.replace('(2, 3)', "('2', 3)"), floats), /no tuple/],
    ['is larger than anything', npyBytes(dictOf('<f4', [2 ** 40, 2 ** 40]), floats), /larger than 2\^53 bytes/],
    ['has too many axes', npyBytes(dictOf('<f4', Array(33).fill(1)), floats), /33 axes; expected at most 32/],
    ['nests without end', npyBytes(`{'descr': ${'('.repeat(5000)}`, floats), /nesting deeper than/],
    [
      'has a giant header',
      npyBytes(`${' '.repeat(70_000)}${dict}`, floats, 2),
      /header of 7\d+ bytes; expected at most 65536/,
    ],
  ])('that %s is refused with E_NPY, saying why', async (_, bytes, message) => {
    const folder = await scratch();
    const error = await submit(folder, bytes);
    expect(error).toBeInstanceOf(JobError);
    expect(error).toMatchObject({ code: 'E_NPY', details: { path: join(folder, 'x.npy') } });
    expect((error as JobError).message).toMatch(message);
  });

  it('that claims a header of 4 GiB is not read into memory', async () => {
    const folder = await scratch();
    const preamble = Buffer.concat([Buffer.from('\x93NUMPY\x02\x00', 'latin1'), Buffer.from([255, 255, 255, 255])]);
    const file = openSync(join(folder, 'x.npy'), 'w');
    writeFileSync(file, preamble);
    ftruncateSync(file, 2 ** 32 + 100);
    closeSync(file);
    const spec = { op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy' } as const;
    await expect(submitJob(store, spec, { cwd: folder })).rejects.toThrow(/header of 4294967295 bytes/);
  });

  it('whose header was damaged anywhere is refused or means the same', async () => {
    const folder = await scratch();
    await fc.assert(
      fc.asyncProperty(fc.nat(10 + dict.length), fc.nat(255), async (at, value) => {
        const damaged = Buffer.from(good);
        damaged[at] = value;
        const answer = await submit(folder, damaged);
        const verdict = answer instanceof Error ? (answer as JobError).code : 'submitted';
        expect(['E_NPY', 'submitted']).toContain(verdict);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['is missing', () => {}, /cannot be opened: ENOENT/],
    ['is a folder', (path: string) => mkdirSync(path), /is not a regular file/],
    ['is a pipe that nobody writes to', (path: string) => execFileSync('mkfifo', [path]), /is not a regular file/],
  ])('that %s is refused with E_INPUT', async (_, make, message) => {
    const folder = await scratch();
    make(join(folder, 'x.npy'));
    const spec = { op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy' } as const;
    const answer = submitJob(store, spec, { cwd: folder });
    await expect(answer).rejects.toMatchObject({ code: 'E_INPUT', message: expect.stringMatching(message) });
  });

  it.each([
    ['no axes', [], 1],
    ['no elements', [3, 0, 2], 0],
    ['many axes', [1, 2, 1, 3, 1, 1], 6],
  ])('with %s keeps its shape in the output', async (_, shape, length) => {
    const folder = await scratch();
    const data = randomFloats(length, 1);
    writeNpy(join(folder, 'x.npy'), data, shape);
    const { id } = await submitJob(store, { op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy' }, { cwd: folder });
    expect(await runJob(store, id)).toMatchObject({ outcome: 'completed', result: { shape } });
    const output = readNpy(join(folder, 'y.npy'));
    expect(output.dict).toBe(dictOf('<f4', shape));
    expect(output.data).toEqual(Buffer.from(bytesOf(data.map((value) => Math.max(0, value)))));
  });
});

const numpy = spawnSync('python3', ['-c', 'import numpy'], { encoding: 'utf8' });
if (numpy.status !== 0) console.warn(`numpy cross-checks skipped: ${numpy.error?.message ?? numpy.stderr.trim()}`);

describe.skipIf(numpy.status !== 0)('numpy', () => {
  const python = (code: string, ...args: string[]): string =>
    execFileSync('python3', ['-c', `import sys, numpy as np\n${code}`, ...args], { encoding: 'utf8' });

  it.each(['<f2', '<f4', '<f8'])('reads what a job on its own %s files of every version wrote', async (descr) => {
    const folder = await scratch();
    python(
      `folder, descr = sys.argv[1:]
x = np.random.default_rng(1).standard_normal((7, 5, 3)).astype(descr)
x[0, 0] = [np.nan, np.inf, -np.inf]
for version in (1, 2, 3):
    with open(f'{folder}/x{version}.npy', 'wb') as f:
        np.lib.format.write_array(f, x, version=(version, 0))`,
      folder,
      descr,
    );
    for (const version of [1, 2, 3]) {
      const spec = { op: 'relu', inputs: { x: `x${version}.npy` }, output: `y${version}.npy`, tile: { elements: 10 } };
      const { id } = await submitJob(store, { ...spec, op: 'relu' }, { cwd: folder });
      expect(await runJob(store, id)).toMatchObject({ outcome: 'completed' });
    }
    const verdict = python(
      `folder = sys.argv[1]
for version in (1, 2, 3):
    x, y = (np.load(f'{folder}/{name}{version}.npy') for name in 'xy')
    assert y.dtype == x.dtype and y.flags.c_contiguous
    np.testing.assert_array_equal(y, np.maximum(x, 0))
print('equal')`,
      folder,
    );
    expect(verdict.trim()).toBe('equal');
  });

  it('agrees with a matmul job', async () => {
    const folder = await scratch();
    python(
      `folder = sys.argv[1]
r = np.random.default_rng(2)
np.save(f'{folder}/a.npy', r.standard_normal((3, 1, 31, 17)))
np.save(f'{folder}/b.npy', r.standard_normal((2, 17, 23)))`,
      folder,
    );
    const spec = { op: 'matmul', inputs: { a: 'a.npy', b: 'b.npy' }, output: 'c.npy', tile: { rows: 8, cols: 7 } };
    const { id } = await submitJob(store, { ...spec, op: 'matmul' }, { cwd: folder });
    expect(await runJob(store, id)).toMatchObject({ outcome: 'completed', result: { shape: [3, 2, 31, 23] } });
    const worst = python(
      `folder = sys.argv[1]
a, b, c = (np.load(f'{folder}/{name}.npy') for name in 'abc')
print(float(np.max(np.abs(a @ b - c))))`,
      folder,
    );
    expect(Number(worst)).toBeLessThan(1e-13);
  });

  it('finds the header of an output aligned as its own', async () => {
    const folder = await scratch();
    writeNpy(join(folder, 'x.npy'), randomFloats(5, 3), [5]);
    const { id } = await submitJob(store, { op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy' }, { cwd: folder });
    await runJob(store, id);
    python(`np.save(sys.argv[1] + '/z.npy', np.load(sys.argv[1] + '/y.npy'))`, folder);
    expect(readFileSync(join(folder, 'y.npy'))).toEqual(readFileSync(join(folder, 'z.npy')));
  });
});
