/** The cpu backend, ONNX Runtime where it is installed, and plain loops, on the same data. */
import { cpu } from '../backends/cpu.ts';
import { runtime } from '../lib/dispatch/registry.ts';
import { select } from '../lib/dispatch/select.ts';
import type { Case } from './cases.ts';
import type { Contender } from './measure.ts';
import { singleOpModel } from './onnx.ts';

type Ort = typeof import('onnxruntime-node');

export async function loadOrt(): Promise<Ort | null> {
  try {
    return await import('onnxruntime-node');
  } catch {
    return null;
  }
}

export function ours({ call }: Case, inputs: readonly Float32Array[]): Contender {
  const [{ path }] = select(runtime, runtime.backends, call, { id: 'cpu', by: 'the benchmark' });
  const out = new Float32Array(call.outShape.reduce((n, extent) => n * extent, 1));
  return { name: path.id, run: () => cpu.run(path, call, { inputs, out }, {}) };
}

export async function onnxRuntime(
  ort: Ort,
  { node }: Case,
  inputs: readonly Float32Array[],
  threads: number,
): Promise<Contender> {
  const options = { intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3 } as const;
  const session = await ort.InferenceSession.create(singleOpModel(node), options);
  const feeds = Object.fromEntries(
    Object.entries(node.inputs).map(([name, shape], at) => [name, new ort.Tensor('float32', inputs[at]!, shape)]),
  );
  return { name: 'onnxruntime', run: () => session.run(feeds) };
}

/** Three loops over typed arrays, rows of B innermost. */
export function plainLoops(M: number, N: number, K: number, inputs: readonly Float32Array[]): Contender {
  const [a, b] = inputs as [Float32Array, Float32Array];
  const out = new Float32Array(M * N);
  return {
    name: 'plain loops in JS',
    run() {
      out.fill(0);
      for (let m = 0; m < M; m++) {
        for (let k = 0; k < K; k++) {
          const left = a[m * K + k]!;
          for (let n = 0; n < N; n++) out[m * N + n]! += left * b[k * N + n]!;
        }
      }
    },
  };
}
