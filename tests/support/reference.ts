/**
 * What an op should give, element by element from its definition, in twice f64's precision where that matters. Written
 * over multi-indices, so that it shares no loop with the backend it judges.
 */
import { isWithin, plan, type ResultTensor, type Tensor, tolerance } from 'uhop';
import { expect } from 'vitest';
import type { Options } from './paths.ts';
import { numbersOf, sizeOf } from './tensors.ts';

/** An exact-to-f64 value of each element, and the sum of the magnitudes that went into it. */
export interface Expected {
  readonly shape: readonly number[];
  readonly value: number[];
  readonly scale: number[];
}

type Term = readonly [number, number];

/** Σ l·r as if computed in twice the precision (Ogita, Rump, Oishi: Accurate Sum and Dot Product, Dot2). */
function dot(terms: readonly Term[], start: number): { readonly value: number; readonly scale: number } {
  let [sum, lost, scale] = [start, 0, Math.abs(start)];
  for (const [left, right] of terms) {
    const product = left * right;
    const next = sum + product;
    if (Number.isFinite(next)) {
      const part = next - sum;
      lost += sum - (next - part) + (product - part) + productError(left, right, product);
    }
    sum = next;
    scale += Math.abs(product);
  }
  return { value: Number.isFinite(sum) ? sum + lost : sum, scale };
}

/** left·right - product, by Veltkamp's splitting. */
function productError(left: number, right: number, product: number): number {
  const [l, lower] = split(left);
  const [r, rest] = split(right);
  return lower * rest - (product - l * r - lower * r - l * rest);
}

function split(value: number): Term {
  const shifted = 134217729 * value;
  const high = shifted - (shifted - value);
  return [high, value - high];
}

function* indices(shape: readonly number[]): Generator<number[]> {
  for (let item = 0; item < sizeOf(shape); item++) {
    let rest = item;
    yield shape.map((_, axis) => {
      const below = sizeOf(shape.slice(axis + 1));
      const index = Math.floor(rest / below);
      rest -= index * below;
      return index;
    });
  }
}

function reader(tensor: Tensor): (index: readonly number[]) => number {
  const numbers = numbersOf(tensor);
  return (index) => {
    const at = tensor.shape.reduce((offset, extent, axis) => offset * extent + index[axis]!, 0);
    return numbers[at]!;
  };
}

function activate(value: number, options: Options): number {
  return options.activation === 'relu' && value <= 0 ? 0 : value;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

export function matmulExpected(a: Tensor, b: Tensor, options: Options = {}): Expected {
  const left = swapped(a.shape.length === 1 ? [1, ...a.shape] : a.shape, options.transposeA);
  const right = swapped(b.shape.length === 1 ? [...b.shape, 1] : b.shape, options.transposeB);
  const rank = Math.max(left.length, right.length);
  const [leads, trails] = [pad(left, rank), pad(right, rank)];
  const full = leads.map((extent, axis) => (extent === 1 ? trails[axis]! : extent));
  full.splice(-2, 2, leads.at(-2)!, trails.at(-1)!);
  const [readA, readB] = [reader(a), reader(b)];
  const bias = options.bias && numbersOf(options.bias as Tensor);
  const value: number[] = [];
  const scale: number[] = [];
  for (const index of indices(full)) {
    const [row, column] = [index.at(-2)!, index.at(-1)!];
    const terms = range(leads.at(-1)!).map((k): Term => {
      const inA = own(index, left, [row, k], options.transposeA);
      const inB = own(index, right, [k, column], options.transposeB);
      return [readA(a.shape.length === 1 ? [k] : inA), readB(b.shape.length === 1 ? [k] : inB)];
    });
    const last = b.shape.length === 1 ? row : column;
    const sum = dot(terms, bias ? bias[bias.length === 1 ? 0 : last]! : 0);
    value.push(activate(sum.value, options));
    scale.push(sum.scale);
  }
  const shape = full.filter(
    (_, axis) => !(axis === rank - 2 && a.shape.length === 1) && !(axis === rank - 1 && b.shape.length === 1),
  );
  return { shape, value, scale };
}

function pad(shape: readonly number[], rank: number): number[] {
  return [...range(rank - shape.length).map(() => 1), ...shape];
}

function swapped(shape: readonly number[], swap = false): readonly number[] {
  return swap ? [...shape.slice(0, -2), shape.at(-1)!, shape.at(-2)!] : shape;
}

/** Where a broadcast index lies in an operand. */
function own(index: readonly number[], shape: readonly number[], matrix: readonly number[], swap = false): number[] {
  const leading = index.slice(0, -2).slice(index.length - shape.length);
  const batch = shape.slice(0, -2).map((extent, axis) => (extent === 1 ? 0 : leading[axis]!));
  return [...batch, ...(swap ? matrix.toReversed() : matrix)];
}

/** Padding given as four numbers. */
export function conv2dExpected(
  x: Tensor,
  w: Tensor,
  options: Options & { readonly padding: readonly [number, number, number, number] },
): Expected {
  const planar = options.layout !== 'nhwc';
  const [batch, , H, W] = planar ? x.shape : [0, 3, 1, 2].map((axis) => x.shape[axis]!);
  const [O, share, KH, KW] = planar ? w.shape : [3, 2, 0, 1].map((axis) => w.shape[axis]!);
  const [strideH, strideW] = pair(options.stride);
  const [dilationH, dilationW] = pair(options.dilation);
  const [top, left, bottom, right] = options.padding;
  const rows = range(H! + top + bottom).filter(
    (h) => h % strideH === 0 && h + (KH! - 1) * dilationH < H! + top + bottom,
  );
  const columns = range(W! + left + right).filter(
    (v) => v % strideW === 0 && v + (KW! - 1) * dilationW < W! + left + right,
  );
  const readX = reader(x);
  const readW = reader(w);
  const bias = options.bias && numbersOf(options.bias as Tensor);
  const perGroup = O! / (options.groups ?? 1);
  const pixel = (n: number, c: number, h: number, v: number): number => {
    if (h < 0 || h >= H! || v < 0 || v >= W!) return 0;
    return readX(planar ? [n, c, h, v] : [n, h, v, c]);
  };
  const shape = planar ? [batch!, O!, rows.length, columns.length] : [batch!, rows.length, columns.length, O!];
  const value: number[] = [];
  const scale: number[] = [];
  for (const index of indices(shape)) {
    const [n, o, i, j] = planar ? index : [0, 3, 1, 2].map((axis) => index[axis]!);
    const first = Math.floor(o! / perGroup) * share!;
    const terms = [...indices([share!, KH!, KW!])].map(
      ([c, kh, kw]): Term => [
        pixel(n!, first + c!, rows[i!]! - top + kh! * dilationH, columns[j!]! - left + kw! * dilationW),
        readW(planar ? [o!, c!, kh!, kw!] : [kh!, kw!, c!, o!]),
      ],
    );
    const sum = dot(terms, bias ? bias[o!]! : 0);
    value.push(activate(sum.value, options));
    scale.push(sum.scale);
  }
  return { shape, value, scale };
}

function pair(value: number | readonly number[] = 1): Term {
  return typeof value === 'number' ? [value, value] : [value[0]!, value[1]!];
}

/** Fails unless every element of a result lies within the op's tolerance. */
export function expectWithin(
  result: ResultTensor,
  expected: Expected,
  op: 'matmul' | 'conv2d',
  inputs: readonly Tensor[],
  options: Options,
): void {
  expect(result.shape).toEqual(expected.shape);
  const { out: _out, backend: _backend, signal: _signal, borrow: _borrow, ...described } = options;
  const limit = tolerance(plan(op, inputs, described).call);
  const got = numbersOf(result);
  expect(got.length).toBe(expected.value.length);
  const wrong = got.findIndex((y, at) => !isWithin(limit, y, expected.value[at]!, expected.scale[at]!));
  const found = wrong < 0 ? '' : `element ${wrong} is ${got[wrong]}, expected ${expected.value[wrong]}`;
  expect(found).toBe('');
}
