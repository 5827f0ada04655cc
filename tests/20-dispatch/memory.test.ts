import { matmul, matmulSync, relu, tensor, type Tensor } from 'uhop';
import { describe, expect, it } from 'vitest';
import { inFreshProcess } from '../support/fresh.ts';
import { guarded } from '../support/guarded.ts';
import { growable, resizable, shared, takeAway } from '../support/memory.ts';
import { callAsync, callSync, onEveryPath, type OpName, type Options, pathsOf } from '../support/paths.ts';
import { integers } from '../support/random.ts';
import { counting, filled, made, sizeOf } from '../support/tensors.ts';

/** Work enough that the addon runs it beside the event loop. */
const ROWS = 64;
const DIM = 1024;

const ones = (...shape: number[]): Tensor => tensor(new Float32Array(sizeOf(shape)).fill(1), shape);
const f32 = (data: ArrayLike<number>): number[] => Array.from(data);

async function largePaths(): Promise<readonly string[]> {
  return pathsOf('matmul', [ones(ROWS, DIM), ones(DIM, DIM)]);
}

describe('the result is of the inputs as they were at the call', () => {
  it('when they are transferred and overwritten meanwhile', async () => {
    for (const backend of await largePaths()) {
      const [a, b] = [ones(ROWS, DIM), ones(DIM, DIM)];
      const running = matmul(a, b, { backend });
      takeAway(a.data as Float32Array, 7);
      takeAway(b.data as Float32Array, 7);
      const { data } = await running;
      const firstRow = f32(data.subarray(0, DIM)).reduce((sum, value) => sum + value, 0);
      expect(firstRow, backend).toBe(1048576);
      expect(
        data.every((value: number) => value === DIM),
        backend,
      ).toBe(true);
    }
  });

  it('when they are overwritten in place, shared ones too', async () => {
    for (const backend of await largePaths()) {
      const a = tensor(shared(filled(ROWS * DIM, 1)), [ROWS, DIM]);
      const [b, bias] = [ones(DIM, DIM), ones(DIM)];
      const running = matmul(a, b, { backend, bias });
      for (const { data } of [a, b, bias]) data.fill(NaN);
      const { data } = await running;
      expect(
        data.every((value: number) => value === DIM + 1),
        backend,
      ).toBe(true);
    }
  });

  it.each([false, true])('when their buffers are resized (borrow: %s)', async (borrow) => {
    for (const backend of await largePaths()) {
      const buffer = resizable(ROWS * DIM * 4, ROWS * DIM * 4);
      const a = tensor(new Float32Array(buffer).fill(1), [ROWS, DIM]);
      const large = growable(DIM * DIM * 4, 2 * DIM * DIM * 4);
      const b = tensor(new Float32Array(large, 0, DIM * DIM).fill(1), [DIM, DIM]);
      const running = matmul(a, b, { backend, borrow });
      buffer.resize(0);
      b.data.fill(NaN);
      const { data } = await running;
      expect(
        data.every((value: number) => value === DIM),
        backend,
      ).toBe(true);
    }
  });

  it('for conv2d and relu as well', async () => {
    const cases: readonly (readonly [OpName, readonly (readonly number[])[], number])[] = [
      [
        'conv2d',
        [
          [1, 32, 64, 64],
          [32, 32, 3, 3],
        ],
        288,
      ],
      ['relu', [[1_000_003]], 1],
    ];
    for (const [op, shapes, expected] of cases) {
      for (const backend of await pathsOf(
        op,
        shapes.map((shape) => ones(...shape)),
      )) {
        const inputs = shapes.map((shape) => ones(...shape));
        const running = callAsync(op, inputs, { backend });
        for (const { data } of inputs) takeAway(data as Float32Array, 7);
        const { data } = await running;
        expect(
          data.every((value: number) => value === expected),
          backend,
        ).toBe(true);
      }
    }
  });

  it.each([false, true])('borrowed inputs are read and left alone (shared: %s)', async (isShared) => {
    const [a, b] = [ones(ROWS, DIM), ones(DIM, DIM)];
    const right = isShared ? tensor(shared(b.data), [DIM, DIM]) : b;
    for (const backend of await largePaths()) {
      const { data } = await matmul(a, right, { backend, borrow: true });
      expect(
        data.every((value: number) => value === DIM),
        backend,
      ).toBe(true);
    }
    expect([a, right].every(({ data }) => data.every((value: number) => value === 1))).toBe(true);
  });

  it('a borrowed buffer that is transferred away and freed crashes nothing', async () => {
    const body = `
      const ones = () => uhop.tensor(new Float32Array(1500 * 1500).fill(1), [1500, 1500]);
      const begin = (backend) => {
        const [a, b] = [ones(), ones()];
        const running = uhop.matmul(a, b, { borrow: true, backend });
        for (const { data: { buffer } } of [a, b]) structuredClone(buffer, { transfer: [buffer] });
        return running;
      };
      const { ranking } = await uhop.explain('matmul', [[1500, 1500], [1500, 1500]]);
      const beside = ranking.filter(({ path }) => path !== 'naive:js');
      const wrong = [];
      for (const { path } of beside) {
        let settled = false;
        const running = begin(path).finally(() => { settled = true; });
        while (!settled) { gc(); await new Promise(setImmediate); }
        if ((await running).data.some((value) => value !== 1500)) wrong.push(path);
      }
      return wrong;`;
    expect(await inFreshProcess(body, {}, ['--expose-gc'])).toMatchObject({ answer: [] });
  });
});

describe('views', () => {
  it.each([false, true])('of shared memory and of part of it are ordinary (shared: %s)', async (isShared) => {
    const whole = isShared ? shared([100, 1, 2, 3, 4]) : Float32Array.of(100, 1, 2, 3, 4);
    const inputs = [tensor(whole.subarray(1), [1, 4]), ones(4, 1)];
    await onEveryPath('matmul', inputs, {}, ({ data }) => expect(f32(data)).toEqual([10]));
    const fromBytes = tensor(new Float32Array(whole.buffer, 4), [4]);
    await onEveryPath('relu', [fromBytes], {}, ({ data }) => expect(f32(data)).toEqual([1, 2, 3, 4]));
    expect(f32(whole)).toEqual([100, 1, 2, 3, 4]);
  });

  const cases: readonly (readonly [OpName, readonly (readonly number[])[], Options])[] = [
    [
      'matmul',
      [
        [5, 19],
        [19, 21],
      ],
      { activation: 'relu' },
    ],
    [
      'matmul',
      [
        [19, 5],
        [21, 19],
      ],
      { transposeA: true, transposeB: true },
    ],
    [
      'conv2d',
      [
        [1, 3, 7, 19],
        [5, 3, 3, 3],
      ],
      { padding: 1 },
    ],
    [
      'conv2d',
      [
        [1, 6, 7, 19],
        [6, 1, 3, 3],
      ],
      { padding: 1, groups: 6 },
    ],
    [
      'conv2d',
      [
        [1, 7, 19, 6],
        [3, 3, 1, 6],
      ],
      { padding: 1, groups: 6, layout: 'nhwc' },
    ],
    ['relu', [[131]], {}],
  ];
  it.each(cases)(
    '%s %j %j gives the same bits at every offset, between untouched guards',
    async (op, shapes, options) => {
      const numbers = shapes.map((shape, at) => integers(sizeOf(shape), at + 1));
      const plain = numbers.map((one, at) => made(one, shapes[at]!));
      const first = callSync(op, plain, { ...options, backend: 'naive' });
      for (let offset = 0; offset < 16; offset++) {
        const views = numbers.map((one) => guarded('f32', one.length, offset));
        for (const [at, { data }] of views.entries()) data.set(numbers[at]!);
        const inputs = views.map(({ data }, at) => tensor(data, shapes[at]!));
        const result = guarded('f32', first.data.length, 15 - offset);
        const out = tensor(result.data, first.shape);
        await onEveryPath(op, inputs, { ...options, out }, ({ data }) => {
          expect(f32(data)).toEqual(f32(first.data));
          expect([...views, result].every((one) => one.intact())).toBe(true);
          result.data.fill(NaN);
        });
        expect(views.map(({ data }) => f32(data))).toEqual(numbers.map(f32));
      }
    },
  );

  it.each(cases)('%s %j %j of shared memory, in and out, borrowed or not', async (op, shapes, options) => {
    const numbers = shapes.map((shape, at) => integers(sizeOf(shape), at + 1));
    const first = callSync(
      op,
      numbers.map((one, at) => made(one, shapes[at]!)),
      { ...options, backend: 'naive' },
    );
    const inputs = numbers.map((one, at) => tensor(shared([NaN, ...one]).subarray(1), shapes[at]!));
    const out = tensor(shared(filled(first.data.length, NaN)), first.shape);
    for (const backend of await pathsOf(op, inputs, options)) {
      for (const borrow of [false, true]) {
        const { data } = await callAsync(op, inputs, { ...options, out, backend, borrow });
        expect(f32(data), backend).toEqual(f32(first.data));
        out.data.fill(NaN);
      }
      expect(f32(callSync(op, inputs, { ...options, out, backend }).data), backend).toEqual(f32(first.data));
    }
  });
});

describe('an array that claims to be another', () => {
  const claiming = (numbers: readonly number[], name: string, value: unknown): Float32Array =>
    Object.defineProperty(Float32Array.from(numbers), name, { value });

  it.each([4, 0, 1_000_000])('by a length of %i counts as what it is', async (length) => {
    const x = claiming([-1, 2, -3], 'length', length);
    expect(() => tensor(x, [length])).toThrow(
      expect.objectContaining({ code: 'E_SHAPE', message: expect.stringMatching(/3 elements/) }),
    );
    const out = claiming([9, 9, 9], 'length', length);
    await onEveryPath('relu', [tensor(x, [3])], { out: tensor(out, [3]) }, ({ data }) => {
      expect([data[0], data[1], data[2]]).toEqual([0, 2, 0]);
      Float32Array.prototype.fill.call(out, 9);
    });
  });

  it('by another buffer or place in it still overlaps itself', async () => {
    for (const [name, value] of [
      ['buffer', new ArrayBuffer(16)],
      ['byteOffset', 64],
      ['byteLength', 0],
    ] as const) {
      for (const backend of await pathsOf('matmul', [ones(2, 2), ones(2, 2)])) {
        const b = tensor(claiming([5, 6, 7, 8], name, value), [2, 2]);
        const { data } = matmulSync(made([1, 2, 3, 4], [2, 2]), b, { out: b, backend });
        expect([data[0], data[1], data[2], data[3]], `${name} on ${backend}`).toEqual([19, 22, 43, 50]);
      }
    }
  });

  it('by memory that is shared is not read after it was transferred away and freed', async () => {
    const body = `
      class Claiming extends Float32Array { get buffer() { return new SharedArrayBuffer(8); } }
      const size = 1500;
      for (let round = 0; round < 8; round++) {
        const memory = new ArrayBuffer(size * size * 4);
        const a = { data: new Claiming(memory), shape: [size, size] };
        const running = uhop.matmul(a, a, { borrow: true, backend: 'cpu' });
        structuredClone(memory, { transfer: [memory] });
        gc();
        await running;
      }
      return 'alive';`;
    expect(await inFreshProcess(body, {}, ['--expose-gc'])).toMatchObject({ answer: 'alive' });
  });
});

describe('out that overlaps an input', () => {
  const expected = f32(matmulSync(made(counting(16), [4, 4]), made(counting(16, 3), [4, 4])).data);

  it.each([
    ['the left operand', 0, 40],
    ['part of it', 3, 40],
    ['the right operand', 20, 40],
    ['both of them', 12, 40],
  ])('%s: the answer is as if it did not', async (_, at, size) => {
    for (const memory of [(): ArrayBufferLike => new ArrayBuffer(size * 4), () => new SharedArrayBuffer(size * 4)]) {
      for (const backend of await pathsOf('matmul', [ones(4, 4), ones(4, 4)])) {
        const outcomes = [0, 1].map(async (beside) => {
          const whole = new Float32Array(memory());
          whole.set(counting(16), 0);
          whole.set(counting(16, 3), 20);
          const [a, b] = [tensor(whole.subarray(0, 16), [4, 4]), tensor(whole.subarray(20, 36), [4, 4])];
          const out = tensor(whole.subarray(at, at + 16), [4, 4]);
          const { data } = await [callSync, callAsync][beside]!('matmul', [a, b], { out, backend });
          expect(data).toBe(out.data);
          return f32(data);
        });
        expect(await Promise.all(outcomes), backend).toEqual([expected, expected]);
      }
    }
  });

  it('the same shared memory under two buffers', async () => {
    for (const backend of await pathsOf('matmul', [ones(4, 4), ones(4, 4)])) {
      const b = shared(counting(16, 3));
      const alias = new Float32Array(structuredClone(b.buffer as SharedArrayBuffer));
      const a = made(counting(16), [4, 4]);
      matmulSync(a, tensor(b, [4, 4]), { out: tensor(alias, [4, 4]), backend });
      expect(f32(b), backend).toEqual(expected);
    }
  });

  it('an out that is also the bias', async () => {
    const inputs = [made([1, 2], [2, 1]), made([1, 1, 1], [1, 3])];
    for (const backend of await pathsOf('matmul', inputs)) {
      const whole = Float32Array.of(10, 20, 30, 0, 0, 0);
      const bias = tensor(whole.subarray(0, 3), [3]);
      callSync('matmul', inputs, { bias, out: tensor(whole, [2, 3]), backend });
      expect(f32(whole), backend).toEqual([11, 21, 31, 12, 22, 32]);
    }
  });

  it('relu shifted over its own input', async () => {
    for (const backend of await pathsOf('relu', [ones(64)])) {
      const whole = Float32Array.from(integers(80, 9));
      const right = f32(whole.subarray(0, 64)).map((value) => Math.max(value, 0));
      callSync('relu', [tensor(whole.subarray(0, 64), [64])], { out: tensor(whole.subarray(5, 69), [64]), backend });
      expect(f32(whole.subarray(5, 69)), backend).toEqual(right);
    }
  });
});

describe('out that goes away while the call runs', () => {
  it('rejects with E_DETACHED where it was still needed, and the inputs are unharmed', async () => {
    const [a, b] = [ones(ROWS, DIM), ones(DIM, DIM)];
    for (const backend of await largePaths()) {
      const out = new Float32Array(ROWS * DIM);
      const running = matmul(a, b, { backend, out: tensor(out, [ROWS, DIM]) });
      const moved = takeAway(out, 5);
      const outcome = await running.then(
        () => 'done',
        ({ code }: { readonly code: string }) => code,
      );
      expect(outcome, backend).toBe(backend === 'naive:js' ? 'done' : 'E_DETACHED');
      expect(
        moved.every((value) => value === 5),
        backend,
      ).toBe(true);
      expect(
        a.data.every((value: number) => value === 1),
        backend,
      ).toBe(true);
    }
  });

  it('shrunk below its shape', async () => {
    for (const backend of (await largePaths()).filter((path) => path !== 'naive:js')) {
      const buffer = resizable(ROWS * DIM * 4, ROWS * DIM * 4);
      const out = tensor(new Float32Array(buffer), [ROWS, DIM]);
      const running = matmul(ones(ROWS, DIM), ones(DIM, DIM), { backend, out });
      buffer.resize(64);
      await expect(running, backend).rejects.toMatchObject({ code: 'E_DETACHED' });
    }
  });
});

it('many calls at once do not meet', async () => {
  const sizes = Array.from({ length: 24 }, (_, index) => 20 + 9 * index);
  for (const backend of await pathsOf('matmul', [ones(227, 227), ones(227, 227)])) {
    const results = await Promise.all(sizes.map((size) => matmul(ones(size, size), ones(size, size), { backend })));
    const wrong = results.filter(({ data }, at) => data.some((value: number) => value !== sizes[at]));
    expect(wrong, backend).toEqual([]);
  }
});

it('an async result may be read at once when the promise settles, and stays the caller’s own', async () => {
  const x = made([-1, 2], [2]);
  const [first, second] = await Promise.all([relu(x), relu(x)]);
  expect(first.data).not.toBe(second.data);
  expect(first.data.buffer).not.toBe(x.data.buffer);
  expect(f32(first.data)).toEqual([0, 2]);
});
