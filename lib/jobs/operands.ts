/** Which blocks of the inputs one tile of the output needs, and with which options the op makes the tile from them. */
import type { Call, Conv2dCall, MatmulCall } from '../../backends/contract.ts';
import { elements } from './box.ts';
import type { Box, Tile } from './types.ts';

/** A block of an input: the file's array seen as `view`, the block to read, and the shape it is handed to the op with. */
export interface Operand {
  readonly view: readonly number[];
  readonly box: Box;
  readonly shape: readonly number[];
}

export interface TileCall {
  /** In the order of the call's inputs. */
  readonly inputs: readonly Operand[];
  readonly bias: Operand | null;
  /** Options of the op, in its own spelling. */
  readonly options: Readonly<Record<string, unknown>>;
}

type Range = readonly [start: number, extent: number];

/** The computation of one tile. Every tile has the full contracted extent: a sum is never cut, so its rounding does not depend on the plan. */
export function tileCall(call: Call, tile: Tile): TileCall {
  if (call.op === 'matmul') return matmulTile(call, tile.out);
  if (call.op === 'conv2d') return conv2dTile(call, tile.out);
  return { inputs: [operand([call.length], [rangeOf(tile.out, 0)])], bias: null, options: {} };
}

function matmulTile(call: MatmulCall, out: Box): TileCall {
  const { M, N, K, transposeA, transposeB, activation } = call;
  const item = unravel(out.start[0] as number, call.batch);
  const rows = rangeOf(out, 1);
  const cols = rangeOf(out, 2);
  const all = whole(K);
  const inputs = [
    transposeA
      ? matrix([K, M], at(item, call.batchStridesA, K * M), [all, rows])
      : matrix([M, K], at(item, call.batchStridesA, K * M), [rows, all]),
    transposeB
      ? matrix([N, K], at(item, call.batchStridesB, K * N), [cols, all])
      : matrix([K, N], at(item, call.batchStridesB, K * N), [all, cols]),
  ];
  const bias = {
    none: null,
    row: operand([N], [cols]),
    scalar: operand([1], [whole(1)]),
  }[call.bias];
  return { inputs, bias, options: { transposeA, transposeB, activation } };
}

function conv2dTile(call: Conv2dCall, out: Box): TileCall {
  const nchw = call.layout === 'nchw';
  const images = rangeOf(out, 0);
  const channels = rangeOf(out, nchw ? 1 : 3);
  const halo = inputRows(call, rangeOf(out, nchw ? 2 : 1));
  const groups = groupsOf(call, channels);
  const perGroup = call.C / call.groups;
  const read: Range = [groups.first * perGroup, groups.count * perGroup];
  const [wide, perFilter, kh, kw] = [whole(call.W), whole(perGroup), whole(call.KH), whole(call.KW)] as const;
  const inputs = nchw
    ? [
        operand([call.batch, call.C, call.H, call.W], [images, read, halo.rows, wide]),
        operand([call.O, perGroup, call.KH, call.KW], [channels, perFilter, kh, kw]),
      ]
    : [
        operand([call.batch, call.H, call.W, call.C], [images, halo.rows, wide, read]),
        operand([call.KH, call.KW, perGroup, call.O], [kh, kw, perFilter, channels]),
      ];
  return {
    inputs,
    bias: call.bias ? operand([call.O], [channels]) : null,
    options: {
      layout: call.layout,
      stride: [call.strideH, call.strideW],
      dilation: [call.dilationH, call.dilationW],
      padding: [halo.padTop, call.padLeft, halo.padBottom, call.padRight],
      groups: groups.count,
      activation: call.activation,
    },
  };
}

/** Input rows under some output rows, and how many rows of padding lie above and below them. */
function inputRows(call: Conv2dCall, [start, extent]: Range): { rows: Range; padTop: number; padBottom: number } {
  const from = start * call.strideH - call.padTop;
  const to = from + (extent - 1) * call.strideH + (call.KH - 1) * call.dilationH + 1;
  const first = Math.min(Math.max(from, 0), call.H);
  const last = Math.min(Math.max(to, first), call.H);
  const padTop = Math.max(0, Math.min(to, 0) - from);
  return { rows: [first, last - first], padTop, padBottom: to - from - padTop - (last - first) };
}

function groupsOf(call: Conv2dCall, [start, extent]: Range): { first: number; count: number } {
  const perGroup = call.O / call.groups;
  return { first: Math.floor(start / perGroup), count: Math.max(1, extent / perGroup) };
}

function matrix(shape: readonly number[], item: number, ranges: readonly Range[]): Operand {
  const box = { start: [item, ...ranges.map(([start]) => start)], extent: [1, ...ranges.map(([, extent]) => extent)] };
  return { view: [item + 1, ...shape], box, shape: box.extent.slice(1) };
}

function operand(view: readonly number[], ranges: readonly Range[]): Operand {
  const box = { start: ranges.map(([start]) => start), extent: ranges.map(([, extent]) => extent) };
  return { view, box, shape: box.extent };
}

function whole(extent: number): Range {
  return [0, extent];
}

function rangeOf(box: Box, axis: number): Range {
  return [box.start[axis] as number, box.extent[axis] as number];
}

/** Which matrix of an operand a batch item uses. */
function at(item: readonly number[], strides: readonly number[], matrixElements: number): number {
  if (matrixElements === 0) return 0;
  return item.reduce((sum, index, axis) => sum + index * (strides[axis] as number), 0) / matrixElements;
}

function unravel(flat: number, shape: readonly number[]): readonly number[] {
  return shape.map((extent, axis) => Math.floor(flat / elements(shape.slice(axis + 1))) % extent);
}
