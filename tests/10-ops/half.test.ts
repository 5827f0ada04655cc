import { decodeHalf, encodeHalf } from 'uhop';
import { describe, expect, it } from 'vitest';
import { generator } from '../support/random.ts';

const every = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);
const LARGEST = { f16: 65504, bf16: 3.3895313892515355e38 };

describe.each(['f16', 'bf16'] as const)('%s', (type) => {
  const decoded = decodeHalf(every, type);
  /** Every finite value from the smallest to the largest. */
  const ladder = Float64Array.from(decoded.filter(Number.isFinite)).toSorted();

  it('survives decoding and encoding, every NaN as NaN', () => {
    const wrong = Array.from(encodeHalf(decoded, type)).filter(
      (bits, index) =>
        bits !== index &&
        !(Number.isNaN(decoded[index]) && Number.isNaN(decodeHalf(every.subarray(bits, bits + 1), type)[0])),
    );
    expect(wrong).toEqual([]);
  });

  it('rounds to the nearest value, ties to an even last bit', () => {
    const next = generator(7);
    const wrong: number[] = [];
    for (let round = 0; round < 20_000; round++) {
      const at = Math.floor(next() * (ladder.length - 1));
      const [low, high] = [ladder[at]!, ladder[at + 1]!];
      const share = round % 4 === 0 ? 0.5 : next();
      const value = low + (high - low) * share;
      const [bits] = encodeHalf([value], type);
      const got = decodeHalf(Uint16Array.of(bits!), type)[0]!;
      const [below, above] = [value - low, high - value];
      const right = below === above ? (bits! & 1) === 0 : got === (below < above ? low : high);
      if (!right) wrong.push(value);
    }
    expect(wrong).toEqual([]);
  });

  it('knows its largest and smallest numbers', () => {
    const largest = LARGEST[type];
    expect(ladder.at(-1)).toBe(largest);
    const step = largest - ladder.at(-2)!;
    const [kept, gone, far] = decodeHalf(encodeHalf([largest + step * 0.499, largest + step / 2, 1e300], type), type);
    expect([kept, gone, far]).toEqual([largest, Infinity, Infinity]);
    const smallest = ladder.find((value) => value > 0)!;
    expect(smallest).toBe(type === 'f16' ? 2 ** -24 : 2 ** -133);
    expect(Array.from(decodeHalf(encodeHalf([smallest / 2, smallest * 0.5001, -smallest], type), type))).toEqual([
      0,
      smallest,
      -smallest,
    ]);
  });

  it('keeps signs, infinities and NaN', () => {
    expect(Array.from(decodeHalf(encodeHalf([-0, -Infinity, Infinity, NaN, -1.5], type), type))).toEqual([
      -0,
      -Infinity,
      Infinity,
      NaN,
      -1.5,
    ]);
  });
});

it.each(['f32', 'F16', undefined, null])('%s is no half precision', (type) => {
  const refused = expect.objectContaining({ code: 'E_DTYPE', message: expect.stringMatching(/'f16' or 'bf16', got/) });
  expect(() => encodeHalf([1], type as 'f16')).toThrow(refused);
  expect(() => decodeHalf(Uint16Array.of(1), type as 'f16')).toThrow(refused);
});

it('rounds once, straight from f64', () => {
  // Through f32 this would become a tie and round down to 1.
  expect(decodeHalf(encodeHalf([1 + 2 ** -11 + 2 ** -40], 'f16'), 'f16')[0]).toBe(1 + 2 ** -10);
});
