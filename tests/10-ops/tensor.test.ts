import { type DataInput, matmulSync, relu, reluSync, tensor, type TensorLike } from 'uhop';
import { describe, expect, it } from 'vitest';
import { resizable } from '../support/memory.ts';
import { pathsOf } from '../support/paths.ts';

const coded = (code: string, message: RegExp) =>
  expect.objectContaining({ name: 'UhopError', code, message: expect.stringMatching(message) });

describe('tensor', () => {
  it('takes its dtype from the array', () => {
    expect(tensor(new Float32Array(2), [2]).dtype).toBe('f32');
    expect(tensor(new Float64Array(2), [2]).dtype).toBe('f64');
    expect(tensor([1, 2], [2])).toEqual({ data: Float32Array.of(1, 2), shape: [2], dtype: 'f32' });
    expect(tensor([0.1], [1], 'f64').data).toEqual(Float64Array.of(0.1));
    expect(tensor(new Uint16Array(2), [2], 'bf16').dtype).toBe('bf16');
  });

  it('keeps the memory and copies the shape', () => {
    const data = new Float32Array(6).subarray(2);
    const shape = [2, 2];
    const made = tensor(data, shape);
    shape[0] = 7;
    expect(made.data).toBe(data);
    expect(made.shape).toEqual([2, 2]);
  });

  it.each([
    ['Int8Array', new Int8Array(4)],
    ['Uint8Array', Buffer.alloc(4)],
    ['Uint8ClampedArray', new Uint8ClampedArray(4)],
    ['Int32Array', new Int32Array(4)],
    ['BigInt64Array', new BigInt64Array(4)],
    ['BigUint64Array', new BigUint64Array(4)],
    ['class DataView', new DataView(new ArrayBuffer(4))],
    ['class ArrayBuffer', new ArrayBuffer(4)],
    ["'1234'", '1234'],
    ['null', null],
    ['undefined', undefined],
    ['an object', { length: 4, 0: 1, 1: 2, 2: 3, 3: 4 }],
    ['class Float32Array', { length: 4, [Symbol.toStringTag]: 'Float32Array' }],
  ])('refuses %s by name, here and in an op', (name, data) => {
    const refused = coded('E_DTYPE', new RegExp(`got.*${name}`));
    expect(() => tensor(data as unknown as DataInput, [4])).toThrow(refused);
    const like = { data, shape: [4] } as unknown as TensorLike;
    expect(() => reluSync(like)).toThrow(refused);
  });

  it.each([
    ['a Uint16Array without a dtype', new Uint16Array(1), undefined, /'f16' or 'bf16'/],
    ['f64 in a Float32Array', new Float32Array(1), 'f64', /Float32Array.*f64/],
    ['f32 in a Uint16Array', new Uint16Array(1), 'f32', /Uint16Array.*f32/],
    ['a dtype that is none', new Float32Array(1), 'int8', /'int8'/],
    ['half precision from numbers', [1], 'f16', /encodeHalf/],
    ['an array of other things', [1, '2'], undefined, /data\[1\].*'2'/],
  ])('refuses %s', (_, data, dtype, message) => {
    expect(() => tensor(data as Float32Array, [1], dtype as 'f32')).toThrow(coded('E_DTYPE', message));
  });

  it.each([[[-1]], [[1.5]], [[NaN]], [Array(1)], [['2']], ['4'], [4], [null], [[2 ** 53]]])(
    'refuses the shape %j',
    (shape) => {
      expect(() => tensor(new Float32Array(4), shape as number[])).toThrow(coded('E_SHAPE', /non-negative integers/));
    },
  );

  it('refuses a length that is not the shape’s', () => {
    expect(() => tensor(new Float32Array(5), [2, 2])).toThrow(coded('E_SHAPE', /5 elements.*\[2, 2\] holds 4/));
    expect(() => tensor(new Float32Array(0), [])).toThrow(coded('E_SHAPE', /holds 1/));
    expect(tensor(new Float32Array(0), [3, 0]).shape).toEqual([3, 0]);
  });

  it('calls sizes that overflow E_LIMIT', () => {
    expect(() => tensor(new Float32Array(1), [2 ** 30, 2 ** 30])).toThrow(coded('E_LIMIT', /1073741824/));
    expect(() => tensor(new Float64Array(1), [2 ** 52])).toThrow(coded('E_LIMIT', /4503599627370496/));
    expect(() => tensor(new Float32Array(0), [2 ** 52, 2 ** 52, 0])).not.toThrow();
  });

  it('calls a result that cannot be allocated E_LIMIT', () => {
    const size = 2 ** 22;
    const ones = new Float32Array(size).fill(1);
    const huge = () => matmulSync({ data: ones, shape: [size, 1] }, { data: ones, shape: [1, size] });
    expect(huge).toThrow(coded('E_LIMIT', /70368744177664 bytes/));
  });

  it('takes a Float16Array as f16 where the runtime has one', () => {
    const Half = (globalThis as { Float16Array?: new (values: number[]) => ArrayBufferView }).Float16Array;
    const bits = Half ? new Half([1, -2]) : new Uint16Array([0x3c00, 0xc000]);
    const { data } = reluSync({ data: bits as Uint16Array, shape: [2], dtype: 'f16' });
    expect(data).toEqual(Uint16Array.of(0x3c00, 0));
  });
});

describe('memory that is gone', () => {
  const gone = coded('E_DETACHED', /transferred away|resized below/);

  it.each([0, 4])('a detached array of %i elements is not an empty one', async (length) => {
    const data = new Float32Array(length);
    const made = tensor(data, [length]);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    expect(() => tensor(data, [0])).toThrow(gone);
    expect(() => reluSync(made)).toThrow(gone);
    await expect(relu(made)).rejects.toEqual(gone);
    expect(() => reluSync({ data, shape: [0] })).toThrow(gone);
  });

  it('a view beyond the end of a resized buffer', () => {
    const buffer = resizable(32, 64);
    const fixed = tensor(new Float32Array(buffer, 16, 4), [4]);
    const tracking = tensor(new Float32Array(buffer), [8]);
    buffer.resize(20);
    expect(() => reluSync(fixed)).toThrow(gone);
    expect(() => reluSync(tracking)).toThrow(gone);
    expect(() => reluSync({ data: new Float32Array(4), shape: [4] }, { out: fixed })).toThrow(gone);
    buffer.resize(64);
    expect(reluSync(fixed).data).toHaveLength(4);
    expect(() => reluSync(tracking)).toThrow(coded('E_SHAPE', /16 elements/));
  });

  it('a detached bias or out', () => {
    const data = new Float32Array(1);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    const one = { data: new Float32Array(1), shape: [1, 1] };
    expect(() => matmulSync(one, one, { bias: { data, shape: [1] } })).toThrow(gone);
    expect(() => matmulSync(one, one, { out: { data, shape: [1, 1] } })).toThrow(gone);
  });

  it('an operand that a getter of the next one takes away', async () => {
    const taking = (data: Float32Array): TensorLike => ({
      data: new Float32Array(4),
      get shape() {
        structuredClone(data.buffer, { transfer: [data.buffer as ArrayBuffer] });
        return [2, 2];
      },
    });
    for (const backend of await pathsOf('matmul', [
      tensor(new Float32Array(4), [2, 2]),
      tensor(new Float32Array(4), [2, 2]),
    ])) {
      const a = tensor(new Float32Array(4), [2, 2]);
      expect(() => matmulSync(a, taking(a.data as Float32Array), { backend })).toThrow(
        coded('E_DETACHED', /went away while the arguments were read/),
      );
    }
  });
});
