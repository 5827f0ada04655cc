/** The measured calls: shapes from text files, described for our backend and for ONNX Runtime. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Call, Conv2dCall, MatmulCall } from '../backends/contract.ts';
import type { Node } from './onnx.ts';

export interface Case {
  readonly label: string;
  readonly call: Call;
  readonly flops: number;
  /** Elements of the two inputs. */
  readonly lengths: readonly [number, number];
  readonly node: Node;
}

function shapes(name: string): number[][] {
  const here = new URL(`./shapes/${name}.txt`, import.meta.url);
  const source = new URL(`../../bench/shapes/${name}.txt`, import.meta.url);
  const lines = readFileSync(fileURLToPath(existsSync(here) ? here : source), 'utf8').split('\n');
  return lines.filter((line) => /^\d/.test(line)).map((line) => line.split(' ').map(Number));
}

export function matmulCase(M: number, N: number, K: number): Case {
  const call: MatmulCall = {
    op: 'matmul',
    dtype: 'f32',
    precision: 'strict',
    M,
    N,
    K,
    transposeA: false,
    transposeB: false,
    batch: [],
    batchStridesA: [],
    batchStridesB: [],
    bias: 'none',
    activation: 'none',
    outShape: [M, N],
  };
  const inputs = { A: [M, K], B: [K, N] };
  const node: Node = { op: 'MatMul', inputs, output: [M, N] };
  return { label: `matmul ${M}x${K} ${K}x${N}`, call, flops: 2 * M * N * K, lengths: [M * K, K * N], node };
}

function conv2dCase(shape: readonly number[]): Case {
  const [batch, C, H, W, O, KH, KW, stride, pad, groups] = shape as [
    ...[number, number, number, number, number],
    ...[number, number, number, number, number],
  ];
  const OH = Math.floor((H + 2 * pad - KH) / stride) + 1;
  const OW = Math.floor((W + 2 * pad - KW) / stride) + 1;
  const outShape = [batch, O, OH, OW];
  const pads = { padTop: pad, padLeft: pad, padBottom: pad, padRight: pad };
  const steps = { strideH: stride, strideW: stride, dilationH: 1, dilationW: 1 };
  const call: Conv2dCall = {
    op: 'conv2d',
    dtype: 'f32',
    precision: 'strict',
    layout: 'nchw',
    ...{ batch, C, H, W, O, KH, KW, OH, OW, groups, outShape },
    ...pads,
    ...steps,
    bias: false,
    activation: 'none',
  };
  const weights = [O, C / groups, KH, KW];
  const node: Node = {
    op: 'Conv',
    inputs: { X: [batch, C, H, W], W: weights },
    output: outShape,
    attributes: { pads: [pad, pad, pad, pad], strides: [stride, stride], group: groups },
  };
  const taps = (C / groups) * KH * KW;
  const label = `conv ${C}x${H}x${W} ${O} ${KH}x${KW}/${stride}${groups > 1 ? ` g${groups}` : ''}`;
  return { label, call, flops: 2 * batch * O * OH * OW * taps, lengths: [batch * C * H * W, O * taps], node };
}

export function cases(quick: boolean): readonly Case[] {
  const products = shapes('matmul').map(([M, N, K]) => matmulCase(M!, N!, K!));
  const all = [...products, ...shapes('conv2d').map(conv2dCase)];
  return quick ? all.filter(({ flops }) => flops <= 2 * 1024 ** 3) : all;
}
