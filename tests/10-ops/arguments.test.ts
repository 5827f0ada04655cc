import { conv2d, conv2dSync, explain, matmul, matmulSync, plan, relu, reluSync, tensor } from 'uhop';
import { describe, expect, it } from 'vitest';

const coded = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

const two = tensor([1, 2, 3, 4], [2, 2]);
const image = tensor([1, 2, 3, 4], [1, 1, 2, 2]);
const loose = (options: object) => options as Record<string, never>;

describe('options', () => {
  it.each([
    [{ transpose_a: true }, /'transpose_a'.*'transposeA'/],
    [{ TransposeB: true }, /'transposeB'/],
    [{ activaton: 'relu' }, /'activation'/],
    [{ stride: 2 }, /no option 'stride': it has transposeA/],
    [{ transposeA: 1 }, /transposeA must be true or false, got 1/],
    [{ activation: 'gelu' }, /activation must be 'none' or 'relu', got 'gelu'/],
    [{ activation: null }, /activation.*got null/],
    [{ precision: 'tf32' }, /precision must be 'strict' or 'fast', got 'tf32'/],
    [{ bias: [1, 2] }, /bias must be a tensor/],
    [{ bias: null }, /bias must be a tensor/],
    [{ out: new Float32Array(4) }, /out must be a tensor.*got Float32Array/],
    [{ backend: 7 }, /backend must be.*got 7/],
    [{ backend: '' }, /backend must be.*got ''/],
  ])('matmul refuses %j', async (options, message) => {
    const refused = coded('E_ARGUMENT', message);
    expect(() => matmulSync(two, two, loose(options))).toThrow(refused);
    await expect(matmul(two, two, loose(options))).rejects.toEqual(refused);
  });

  it.each([
    [{ padding: 'SAME' }, /padding.*'SAME'; did you mean 'same'/],
    [{ padding: 'same_lower' }, /did you mean 'same-lower'/],
    [{ padding: -1 }, /padding.*-1/],
    [{ padding: [1, 2, 3] }, /padding.*\[1, 2, 3\]/],
    [{ padding: [1, 0.5] }, /padding.*\[1, 0.5\]/],
    [{ padding: [0, 0, 0, -1] }, /padding.*-1/],
    [{ stride: 0 }, /stride.*at least 1.*got 0/],
    [{ stride: [1, 2, 3] }, /stride.*\[1, 2, 3\]/],
    [{ stride: '2' }, /stride.*'2'/],
    [{ dilation: [1, 0] }, /dilation.*\[1, 0\]/],
    [{ layout: 'hwcn' }, /layout must be 'nchw' or 'nhwc', got 'hwcn'/],
    [{ strides: 2 }, /did you mean 'stride'/],
    [{ pad: 1 }, /no option 'pad'/],
  ])('conv2d refuses %j', async (options, message) => {
    const refused = coded('E_ARGUMENT', message);
    expect(() => conv2dSync(image, image, loose(options))).toThrow(refused);
    await expect(conv2d(image, image, loose(options))).rejects.toEqual(refused);
  });

  it('relu has no bias, a sync op no signal and no borrow', () => {
    expect(() => reluSync(two, loose({ bias: two }))).toThrow(coded('E_ARGUMENT', /no option 'bias'/));
    expect(() => reluSync(two, loose({ signal: AbortSignal.abort() }))).toThrow(coded('E_ARGUMENT', /'signal'/));
    expect(() => reluSync(two, loose({ borrow: true }))).toThrow(coded('E_ARGUMENT', /'borrow'/));
  });

  it('async ops check signal and borrow', async () => {
    await expect(relu(two, loose({ signal: {} }))).rejects.toEqual(
      coded('E_ARGUMENT', /signal must be an AbortSignal/),
    );
    await expect(relu(two, loose({ borrow: 'yes' }))).rejects.toEqual(coded('E_ARGUMENT', /borrow.*'yes'/));
    await expect(relu(two, 5 as never)).rejects.toEqual(coded('E_ARGUMENT', /options must be an object, got 5/));
  });

  it('a value of undefined is none', () => {
    const options = { bias: undefined, out: undefined, transposeA: undefined, activation: undefined };
    expect(Array.from(matmulSync(two, two, options).data)).toEqual([7, 10, 15, 22]);
  });
});

describe('operands', () => {
  it.each([undefined, null, 5, [1, 2], new Float32Array(4), {}, { data: new Float32Array(4) }])(
    '%o is no tensor',
    async (value) => {
      const refused = coded('E_ARGUMENT', /matmul: b must be a tensor or \{ data, shape, dtype\? \}/);
      expect(() => matmulSync(two, value as never)).toThrow(refused);
      await expect(matmul(two, value as never)).rejects.toEqual(refused);
    },
  );

  it('a plain object is a tensor', () => {
    const plain = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
    expect(Array.from(matmulSync(plain, plain).data)).toEqual([7, 10, 15, 22]);
  });

  it('dtypes are not mixed', () => {
    const wide = tensor(new Float64Array(4), [2, 2]);
    const mixed = coded('E_DTYPE', /(b|bias|out) is f64, but the call is f32/);
    expect(() => matmulSync(two, wide)).toThrow(mixed);
    expect(() => matmulSync(two, two, { bias: tensor(new Float64Array(2), [2]) })).toThrow(mixed);
    expect(() => matmulSync(two, two, { out: wide })).toThrow(mixed);
    const [half, brain] = [tensor(new Uint16Array(1), [1], 'f16'), tensor(new Uint16Array(1), [1], 'bf16')];
    expect(() => matmulSync(half, brain)).toThrow(coded('E_DTYPE', /b is bf16, but the call is f16/));
  });

  it.each([
    [[2, 3], [4, 5], {}, /a \[2, 3\] has K = 3, b \[4, 5\] has K = 4/],
    [[2, 3], [3, 5], { transposeA: true }, /a \[2, 3\] transposed has K = 2/],
    [[], [3, 5], {}, /a is a scalar/],
    [[3], [3, 5], { transposeA: true }, /transposeA needs at least two axes/],
    [[2, 2, 3], [4, 3, 5], {}, /\[2\] and \[4\].*2 meets 4/],
    [[0, 2, 3], [2, 3, 5], {}, /0 meets 2/],
    [[2, 3], [3, 5], { bias: [4] }, /bias is \[4\], expected \[5\]/],
    [[2, 3], [3, 5], { bias: [2, 5] }, /bias is \[2, 5\]/],
    [[2, 3], [3], { bias: [3] }, /expected \[2\]/],
  ])('matmul %j x %j %j: E_SHAPE', (a, b, options, message) => {
    expect(() => plan('matmul', [a, b], options)).toThrow(coded('E_SHAPE', message));
  });

  it('out has the shape of the result', () => {
    const out = tensor(new Float32Array(4), [4]);
    expect(() => matmulSync(two, two, { out })).toThrow(coded('E_SHAPE', /out is \[4\], the result is \[2, 2\]/));
  });
});

describe('what an array says when it is read again', () => {
  /** An array whose elements are these at the first reading and `later` at every other. */
  const fickle = (first: readonly number[], later: number): number[] => {
    const seen = new Set<PropertyKey>();
    return new Proxy([...first], {
      get(target, key, receiver) {
        if (typeof key === 'string' && /^\d+$/.test(key) && seen.size === seen.add(key).size) return later;
        return Reflect.get(target, key, receiver);
      },
    });
  };

  it.each([-2, NaN, 2 ** 40])('is not asked: %s', (later) => {
    expect(tensor([1, 2, 3, 4], fickle([2, 2], later)).shape).toEqual([2, 2]);
    const x = { data: Float32Array.of(1, 2, 3, 4), shape: [1, 1, 2, 2] };
    const w = { data: Float32Array.of(1), shape: [1, 1, 1, 1] };
    for (const padding of [
      [1, 1, 1, 1],
      [1, 1],
    ]) {
      const { data } = conv2dSync(x, w, {
        padding: fickle(padding, later),
        stride: fickle([1, 1], later),
        dilation: fickle([1, 1], later),
      });
      expect(Array.from(data)).toEqual([0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0]);
    }
  });
});

describe('an error message', () => {
  const circle: unknown[] = [];
  circle.push(circle);
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const angry = {
    get [Symbol.toStringTag](): string {
      throw new Error('none of your business');
    },
  };

  it.each([
    ['an array that holds itself', circle, /got \[an array\]/],
    ['a sparse array of millions', Array(2 ** 30), /got an array of length 1073741824/],
    ['a class that will not be named', angry, /got an object that cannot be looked at/],
    ['a long text', 'x'.repeat(1e6), /^.{1,300}$/],
    ['a symbol', Symbol('shape'), /got Symbol\(shape\)/],
  ])('can name %s', (_, value, message) => {
    expect(() => tensor([1], value as number[])).toThrow(coded('E_SHAPE', message));
    expect(() => matmulSync(two, two, loose({ activation: value }))).toThrow(coded('E_ARGUMENT', message));
  });

  it('can name a proxy that was revoked', () => {
    expect(() => matmulSync(two, two, loose({ activation: revoked.proxy }))).toThrow(
      coded('E_ARGUMENT', /got an object that cannot be looked at/),
    );
  });
});

describe('plan', () => {
  it('plans what nobody could allocate', () => {
    expect(
      plan('matmul', [
        [46341, 1],
        [1, 46341],
      ]),
    ).toMatchObject({
      outShape: [46341, 46341],
      byteLength: 8589953124,
      dtype: 'f32',
    });
    const large = plan('matmul', [
      [46341, 46341],
      [46341, 46341],
    ]);
    expect(large).toMatchObject({ byteLength: 8589953124, flops: 2 * 46341 ** 3 });
    expect(
      plan(
        'conv2d',
        [
          [64, 256, 1024, 1024],
          [1024, 256, 3, 3],
        ],
        { padding: 1 },
      ),
    ).toMatchObject({
      outShape: [64, 1024, 1024, 1024],
      byteLength: 2 ** 38,
    });
    expect(plan('relu', [[2 ** 30, 3]], { dtype: 'f64' }).byteLength).toBe(3 * 2 ** 33);
  });

  it.each([
    [
      'a result',
      () =>
        plan('matmul', [
          [2 ** 30, 1],
          [1, 2 ** 30],
        ]),
    ],
    [
      'bytes of a result',
      () =>
        plan(
          'matmul',
          [
            [2 ** 26, 1],
            [1, 2 ** 26],
          ],
          { dtype: 'f64' },
        ),
    ],
    ['an input', () => plan('relu', [[2 ** 40, 2 ** 20]])],
    [
      'a batch',
      () =>
        plan('matmul', [
          [2 ** 30, 1, 1, 1],
          [2 ** 30, 1, 1],
        ]),
    ],
    [
      'a convolution',
      () =>
        plan('conv2d', [
          [2 ** 30, 1, 1, 1],
          [2 ** 30, 1, 1, 1],
        ]),
    ],
  ])('%s above 2^53 is E_LIMIT, never a wrapped number', (_, overflowing) => {
    expect(overflowing).toThrow(coded('E_LIMIT', /2\^53/));
  });

  it('takes tensors, and their dtype', () => {
    const wide = tensor(new Float64Array(4), [2, 2]);
    expect(plan('matmul', [wide, wide], { bias: [2] })).toMatchObject({ dtype: 'f64', byteLength: 32, flops: 20 });
    expect(plan('matmul', [[2, 2], wide]).dtype).toBe('f64');
    expect(() => plan('matmul', [wide, two])).toThrow(coded('E_DTYPE', /b is f32/));
    expect(() => plan('matmul', [wide, [2, 2]], { dtype: 'f32' })).toThrow(coded('E_DTYPE', /a is f64/));
  });

  it('refuses what is no op and operands that do not fit one', async () => {
    expect(() => plan('matmull' as 'matmul', [[1], [1]])).toThrow(coded('E_ARGUMENT', /did you mean 'matmul'/));
    expect(() => plan('softmax' as 'matmul', [[1], [1]])).toThrow(coded('E_ARGUMENT', /expected matmul, conv2d, relu/));
    expect(() => plan('matmul', [[1, 1]])).toThrow(coded('E_ARGUMENT', /an array of 2: a, b/));
    expect(() => plan('relu', [[1]], { dtype: 'int8' as 'f32' })).toThrow(coded('E_DTYPE', /'int8'/));
    await expect(
      explain(
        'matmul',
        [
          [1, 1],
          [1, 1],
        ],
        loose({ out: two }),
      ),
    ).rejects.toEqual(coded('E_ARGUMENT', /explain matmul has no option 'out'/));
  });

  it('counts operations and bytes', () => {
    expect(
      plan(
        'matmul',
        [
          [3, 4],
          [4, 5],
        ],
        { bias: [5], activation: 'relu' },
      ),
    ).toMatchObject({
      flops: 3 * 5 * (8 + 2),
      traffic: 4 * (12 + 20 + 15 + 5),
    });
    expect(
      plan('matmul', [
        [7, 3, 4],
        [4, 5],
      ]).traffic,
    ).toBe(4 * (7 * 12 + 20 + 7 * 15));
    expect(
      plan('matmul', [
        [3, 4],
        [7, 4, 5],
      ]).traffic,
    ).toBe(4 * (12 + 7 * 20 + 7 * 15));
    expect(
      plan(
        'conv2d',
        [
          [1, 4, 5, 5],
          [6, 2, 3, 3],
        ],
        { groups: 2 },
      ),
    ).toMatchObject({
      flops: 6 * 9 * 2 * 18,
      traffic: 4 * (100 + 108 + 54),
    });
    expect(plan('relu', [[10]])).toMatchObject({ flops: 10, traffic: 80 });
  });
});
