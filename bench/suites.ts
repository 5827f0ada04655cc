/** What is measured against whom. The calls of a suite are the lines of a file in shapes/. */
import { noPrepack } from './contenders/ours.ts';

export interface Suite {
  readonly name: string;
  readonly title: string;
  /** The file in shapes/, where it is not of the suite's name. */
  readonly shapes?: string;
  /** The first is the one that the others are held against: without it there is no suite. */
  readonly teams: readonly string[];
  /** Why it cannot be here. */
  readonly skipped?: string | undefined;
}

const PACKAGES: readonly string[] = ['tfjs-wasm', 'stdlib-blas', 'plain-c++', 'plain-js'];
const PRODUCTS: readonly string[] = ['uhop', 'onnxruntime', 'openblas', 'onednn', 'uhop-c++', ...PACKAGES, 'fma'];
const CONVOLUTIONS: readonly string[] = [
  ...['uhop', 'onnxruntime', 'onednn', 'onednn-blocked'],
  ...['tfjs-wasm', 'plain-c++', 'plain-js', 'fma'],
];

export function suites(threads: number): readonly Suite[] {
  return [
    { name: 'cubes', title: 'matmul, M = N = K', teams: PRODUCTS },
    {
      name: 'small',
      title: 'small matmul, called from JavaScript',
      teams: ['uhop', 'onnxruntime', 'tfjs-wasm', 'stdlib-blas', 'plain-js', 'fma'],
    },
    {
      name: 'small-c++',
      title: 'small matmul, our drivers called from C++ as OpenBLAS is',
      shapes: 'small',
      teams: ['uhop-c++', 'openblas', 'onednn', 'plain-c++', 'fma'],
    },
    { name: 'skinny', title: 'matmul with one long side or two', teams: [...PRODUCTS, 'memcpy', 'read'] },
    { name: 'batched', title: 'matmul of many', teams: PRODUCTS },
    { name: 'transposed', title: 'matmul of operands stored the other way', teams: [...PRODUCTS, 'read'] },
    { name: 'resnet50', title: 'conv2d, the layers of ResNet-50', teams: CONVOLUTIONS },
    { name: 'mobilenet', title: 'conv2d, the layers of MobileNet', teams: CONVOLUTIONS },
    { name: 'nhwc', title: 'conv2d of interleaved channels', teams: CONVOLUTIONS },
    {
      name: 'relu',
      title: 'relu of 16 Mi elements against memcpy of the same bytes',
      teams: ['uhop', 'memcpy', 'onnxruntime', 'tfjs-wasm', 'plain-c++', 'plain-js'],
    },
    {
      name: 'overhead',
      title: 'what a call costs: 8x8 matmul against a call into an addon that does nothing',
      teams: ['uhop', 'empty-call', 'onnxruntime', 'tfjs-wasm', 'stdlib-blas', 'plain-js'],
    },
    {
      name: 'prepack',
      title: 'weights prepared ahead; ONNX Runtime has them as constants, oneDNN in its own form',
      teams: ['uhop', 'onnxruntime', 'onednn', 'openblas', 'fma', 'read'],
      skipped: noPrepack,
    },
    {
      name: 'scaling',
      title: 'matmul from C++ on one thread and on all',
      shapes: 'cubes',
      teams: scaling(threads),
    },
  ];
}

function scaling(threads: number): readonly string[] {
  const counts = threads > 1 ? [threads, 1] : [1];
  return ['uhop-c++', 'openblas', 'fma'].flatMap((name) => counts.map((count) => `${name} ${count}t`));
}
