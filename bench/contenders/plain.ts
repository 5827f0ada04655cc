/** Plain loops over typed arrays: what one would have without a library. */
import type { Conv2dCall, MatmulCall } from '../../backends/contract.ts';
import { type Case, inputsOf, sizeOf } from '../cases.ts';
import type { Absent, Contender, Team } from './contender.ts';
import { local } from './local.ts';

const NAME = 'plain-js';

export async function plainJs(): Promise<Team | Absent> {
  return { name: NAME, role: 'floor', version: process.version, rate: 5e8, enter, close: async () => {} };
}

async function enter(one: Case): Promise<Contender | string> {
  const [x, w] = inputsOf(one) as [Float32Array, Float32Array];
  const { call } = one;
  const out = one.has('in-place') ? x : new Float32Array(sizeOf(call.outShape)).fill(Number.NaN);
  const run = {
    matmul: () => products(call as MatmulCall, x, w, out),
    conv2d: () => convolve(call as Conv2dCall, x, w, out),
    relu: () => relu(x, out),
  }[call.op];
  return local({ name: NAME, role: 'floor', note: 'plain loops', threads: 1, call: run, result: () => out });
}

function relu(x: Float32Array, out: Float32Array): void {
  for (let at = 0; at < x.length; at++) out[at] = x[at]! <= 0 ? 0 : x[at]!;
}

function products(call: MatmulCall, a: Float32Array, b: Float32Array, out: Float32Array): void {
  const { M, N, batch, batchStridesA, batchStridesB } = call;
  for (let item = 0; item < (batch[0] ?? 1); item++) {
    const left = a.subarray(item * (batchStridesA[0] ?? 0));
    const right = b.subarray(item * (batchStridesB[0] ?? 0));
    product(call, left, right, out.subarray(item * M * N, (item + 1) * M * N));
  }
}

/** Rows of op(b) innermost. */
function product({ M, N, K, transposeA, transposeB }: MatmulCall, a: Float32Array, b: Float32Array, out: Float32Array) {
  out.fill(0);
  for (let m = 0; m < M; m++) {
    for (let k = 0; k < K; k++) {
      const left = transposeA ? a[k * M + m]! : a[m * K + k]!;
      if (transposeB) for (let n = 0; n < N; n++) out[m * N + n]! += left * b[n * K + k]!;
      else for (let n = 0; n < N; n++) out[m * N + n]! += left * b[k * N + n]!;
    }
  }
}

function convolve(call: Conv2dCall, x: Float32Array, w: Float32Array, out: Float32Array): void {
  const { batch, C, H, W, O, KH, KW, OH, OW, strideH, strideW, padTop, padLeft, groups } = call;
  const nhwc = call.layout === 'nhwc';
  const share = C / groups;
  const [xPixel, xChannel] = nhwc ? [C, 1] : [1, H * W];
  const [wTap, wChannel, wFilter] = nhwc ? [share * O, O, 1] : [1, KH * KW, share * KH * KW];
  const [outPixel, outChannel] = nhwc ? [O, 1] : [1, OH * OW];
  for (let n = 0; n < batch; n++) {
    for (let o = 0; o < O; o++) {
      const first = n * C * H * W + Math.floor(o / (O / groups)) * share * xChannel;
      for (let oh = 0; oh < OH; oh++) {
        for (let ow = 0; ow < OW; ow++) {
          let sum = 0;
          for (let c = 0; c < share; c++) {
            for (let kh = 0; kh < KH; kh++) {
              const h = oh * strideH + kh - padTop;
              if (h < 0 || h >= H) continue;
              for (let kw = 0; kw < KW; kw++) {
                const v = ow * strideW + kw - padLeft;
                if (v < 0 || v >= W) continue;
                const tap = w[o * wFilter + c * wChannel + (kh * KW + kw) * wTap]!;
                sum += tap * x[first + c * xChannel + (h * W + v) * xPixel]!;
              }
            }
          }
          out[n * O * OH * OW + o * outChannel + (oh * OW + ow) * outPixel] = sum;
        }
      }
    }
  }
}
