/** The measured calls: shapes from text files, described for our backend and for ONNX Runtime. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Call } from '../backends/contract.ts';
import { plan } from '../lib/ops/plan.ts';
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
  const a = [M, K];
  const b = [K, N];
  const { call, flops, outShape } = plan('matmul', [a, b]);
  const node: Node = { op: 'MatMul', inputs: { A: a, B: b }, output: outShape };
  return { label: `matmul ${M}x${K} ${K}x${N}`, call, flops, lengths: [M * K, K * N], node };
}

function conv2dCase(shape: readonly number[]): Case {
  const [batch, C, H, W, O, KH, KW, stride, pad, groups] = shape as [
    ...[number, number, number, number, number],
    ...[number, number, number, number, number],
  ];
  const x = [batch, C, H, W];
  const w = [O, C / groups, KH, KW];
  const { call, flops, outShape } = plan('conv2d', [x, w], { stride, padding: pad, groups });
  const node: Node = {
    op: 'Conv',
    inputs: { X: x, W: w },
    output: outShape,
    attributes: { pads: [pad, pad, pad, pad], strides: [stride, stride], group: groups },
  };
  const label = `conv ${C}x${H}x${W} ${O} ${KH}x${KW}/${stride}${groups > 1 ? ` g${groups}` : ''}`;
  return { label, call, flops, lengths: [batch * C * H * W, (O * C * KH * KW) / groups], node };
}

export function cases(quick: boolean): readonly Case[] {
  const products = shapes('matmul').map(([M, N, K]) => matmulCase(M!, N!, K!));
  const all = [...products, ...shapes('conv2d').map(conv2dCase)];
  return quick ? all.filter(({ flops }) => flops <= 2 * 1024 ** 3) : all;
}
