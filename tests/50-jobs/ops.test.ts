import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  conv2d,
  devices,
  encodeHalf,
  type JobOp,
  type JobSpec,
  matmul,
  type ResultTensor,
  relu,
  runJob,
  submitJob,
  type Tensor,
} from 'uhop';
import { openStore, type Store } from 'uhop/dhp';
import { scratch } from '../support/jobs.ts';
import { bytesOf, descrOf, dictOf, type NpyData, readNpy, writeNpy } from '../support/npy.ts';
import { randomNumbers } from '../support/numbers.ts';

let store: Store;
let folder: string;
let nonce = 0;
beforeAll(async () => {
  store = await openStore('memory:');
});
afterAll(() => store.close());
beforeEach(async () => {
  folder = await scratch();
});

type DType = 'f32' | 'f64' | 'f16';

function random(shape: readonly number[], dtype: DType, seed: number): Tensor {
  const numbers = randomNumbers(
    shape.reduce((product, extent) => product * extent, 1),
    seed,
  );
  const data: NpyData =
    dtype === 'f64' ? numbers : dtype === 'f32' ? Float32Array.from(numbers) : encodeHalf(numbers, 'f16');
  return { data, shape, dtype };
}

interface Output {
  readonly dict: string;
  readonly data: Buffer;
}

/** The output file of a job on these tensors. */
async function outputOf(
  op: JobOp,
  tensors: Readonly<Record<string, Tensor>>,
  spec: Pick<JobSpec, 'attrs' | 'tile' | 'verify'>,
  backend = 'naive',
): Promise<Output> {
  for (const [name, { data, shape }] of Object.entries(tensors)) writeNpy(join(folder, `${name}.npy`), data, shape);
  const inputs = Object.fromEntries(Object.keys(tensors).map((name) => [name, `${name}.npy`]));
  const job = { op, inputs, output: 'out.npy', nonce: String(nonce++), ...spec };
  const { id } = await submitJob(store, job, { cwd: folder });
  expect(await runJob(store, id, { backend })).toMatchObject({ outcome: 'completed' });
  return readNpy(join(folder, 'out.npy'));
}

/** The file that an op's own answer would be. */
function fileOf({ data, shape }: ResultTensor): Output {
  return { dict: dictOf(descrOf(data), shape), data: Buffer.from(bytesOf(data)) };
}

const upTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
const dtypes = fc.constantFrom('f32' as const, 'f64' as const, 'f16' as const);
const activations = fc.constantFrom('none' as const, 'relu' as const);

describe('a job gives the bytes of the op itself', () => {
  it('for matmul: transposes, batches broadcast both ways, bias, relu, every dtype, any tile', async () => {
    const cases = fc.record({
      dtype: dtypes,
      M: upTo(9),
      N: upTo(9),
      K: fc.nat(6),
      batches: fc.constantFrom(
        [[], []],
        [[3], []],
        [[], [2]],
        [[2, 1], [3]],
        [
          [2, 3],
          [2, 1],
        ],
        [[0], []],
      ),
      transposeA: fc.boolean(),
      transposeB: fc.boolean(),
      bias: fc.constantFrom('none', 'row', 'one', 'scalar'),
      activation: activations,
      rows: upTo(10),
      cols: upTo(10),
      verify: fc.constantFrom('none' as const, 'recompute' as const),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ dtype, M, N, K, batches, bias, rows, cols, verify, ...attrs }) => {
        const { transposeA, transposeB } = attrs;
        const a = random([...batches[0]!, ...(transposeA ? [K, M] : [M, K])], dtype, 1);
        const b = random([...batches[1]!, ...(transposeB ? [N, K] : [K, N])], dtype, 2);
        const biases = { none: undefined, row: [N], one: [1], scalar: [] };
        const shape = biases[bias as keyof typeof biases];
        const extra = shape && { bias: random(shape, dtype, 3) };
        const direct = await matmul(a, b, { ...attrs, ...extra, backend: 'naive' });
        const output = await outputOf('matmul', { a, b, ...extra }, { attrs, tile: { rows, cols }, verify });
        expect(output).toEqual(fileOf(direct));
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['a row and a matrix', [4], [4, 5], [5]],
    ['a matrix and a column', [3, 4], [4], [3]],
    ['a row and a column', [4], [4], [1]],
    ['items and a column', [2, 3, 4], [4], [3]],
  ])('for matmul of %s with a bias', async (_, shapeA, shapeB, shapeBias) => {
    const [a, b, bias] = [random(shapeA, 'f64', 1), random(shapeB, 'f64', 2), random(shapeBias, 'f64', 3)];
    const direct = await matmul(a, b, { bias, backend: 'naive' });
    const output = await outputOf('matmul', { a, b, bias }, { tile: { rows: 2, cols: 2 } });
    expect(output).toEqual(fileOf(direct));
  });

  it('for conv2d: halos, padding, stride, dilation, groups, both layouts, every dtype, any tile', async () => {
    const cases = fc.record({
      dtype: dtypes,
      layout: fc.constantFrom('nchw' as const, 'nhwc' as const),
      batch: upTo(3),
      groups: upTo(3),
      inPerGroup: upTo(2),
      outPerGroup: upTo(4),
      height: upTo(9),
      width: upTo(7),
      kernel: fc.tuple(upTo(3), upTo(3)),
      stride: fc.tuple(upTo(3), upTo(2)),
      dilation: fc.tuple(upTo(2), upTo(2)),
      padding: fc.oneof(
        fc.constantFrom('same' as const, 'same-lower' as const, 4),
        fc.tuple(fc.nat(5), fc.nat(4), fc.nat(5), fc.nat(4)).map((sides) => sides.map((side) => side + 2)),
      ),
      bias: fc.boolean(),
      activation: activations,
      images: upTo(4),
      rows: upTo(6),
      channels: fc.constantFrom('one', 'group', 'two groups'),
    });
    await fc.assert(
      fc.asyncProperty(cases, async (c) => {
        const { dtype, layout, batch, groups, inPerGroup, outPerGroup, kernel, stride, dilation, padding } = c;
        const [C, O] = [groups * inPerGroup, groups * outPerGroup];
        const x = random(layout === 'nchw' ? [batch, C, c.height, c.width] : [batch, c.height, c.width, C], dtype, 1);
        const w = random(layout === 'nchw' ? [O, inPerGroup, ...kernel] : [...kernel, inPerGroup, O], dtype, 2);
        const extra = c.bias ? { bias: random([O], dtype, 3) } : {};
        const attrs = { layout, groups, stride, dilation, padding, activation: c.activation };
        const channels = { one: 1, group: outPerGroup, 'two groups': 2 * outPerGroup }[c.channels] as number;
        const direct = await conv2d(x, w, { ...attrs, ...extra, backend: 'naive' } as Parameters<typeof conv2d>[2]);
        const tile = { images: c.images, rows: c.rows, channels };
        expect(await outputOf('conv2d', { x, w, ...extra }, { attrs, tile })).toEqual(fileOf(direct));
      }),
      { numRuns: 80 },
    );
  });

  it('for relu, the special values among them', async () => {
    const specials = [NaN, -NaN, Infinity, -Infinity, -0, 0, 1e-45, -1e-45, 1];
    for (const dtype of ['f32', 'f64', 'f16'] as const) {
      const x = random([5, 11], dtype, 1);
      const values: NpyData = dtype === 'f16' ? encodeHalf(specials, 'f16') : Float64Array.from(specials);
      x.data.set(values, 20);
      const direct = await relu(x, { backend: 'naive' });
      expect(await outputOf('relu', { x }, { tile: { elements: 7 } })).toEqual(fileOf(direct));
    }
  });

  it('where rows are read far apart and close together alike', async () => {
    // Rows of 40 KiB: a narrow column block is read row by row, a wide one in spans of several rows.
    const [a, b] = [random([3, 40], 'f32', 1), random([40, 10_240], 'f32', 2)];
    const whole = fileOf(await matmul(a, b, { backend: 'naive' }));
    for (const cols of [1000, 9000]) {
      const output = await outputOf('matmul', { a, b }, { tile: { rows: 3, cols } });
      expect(output.data.equals(whole.data)).toBe(true);
    }
  });

  it('without a tile size, which is then chosen', async () => {
    const [a, b] = [random([70, 50], 'f32', 1), random([50, 60], 'f32', 2)];
    expect(await outputOf('matmul', { a, b }, {})).toEqual(fileOf(await matmul(a, b, { backend: 'naive' })));
    const [x, w] = [random([2, 3, 20, 20], 'f32', 1), random([4, 3, 3, 3], 'f32', 2)];
    expect(await outputOf('conv2d', { x, w }, {})).toEqual(fileOf(await conv2d(x, w, { backend: 'naive' })));
  });
});

const cpu = (await devices()).some(({ backend, usable }) => backend === 'cpu' && usable);

describe.skipIf(!cpu)('on the cpu backend', () => {
  it('a job in one tile gives the bytes of the op itself', async () => {
    const [a, b] = [random([130, 70], 'f32', 1), random([70, 90], 'f32', 2)];
    const output = await outputOf('matmul', { a, b }, { tile: { rows: 130, cols: 90 } }, 'cpu');
    expect(output).toEqual(fileOf(await matmul(a, b, { backend: 'cpu' })));
  });
});

describe('operands that do not fit each other', () => {
  it.each([
    ['inner sizes', random([2, 3], 'f32', 1), random([4, 5], 'f32', 2), 'E_SHAPE', /inner sizes differ/],
    ['dtypes', random([2, 3], 'f32', 1), random([3, 5], 'f64', 2), 'E_DTYPE', /b is f64/],
  ])('in %s are refused at submit', async (_, a, b, code, message) => {
    const cwd = await scratch();
    writeNpy(join(cwd, 'a.npy'), a.data, a.shape);
    writeNpy(join(cwd, 'b.npy'), b.data, b.shape);
    writeFileSync(join(cwd, 'c.npy'), 'kept');
    const spec = { op: 'matmul', inputs: { a: 'a.npy', b: 'b.npy' }, output: 'c.npy' } as const;
    const answer = submitJob(store, spec, { cwd });
    await expect(answer).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});
