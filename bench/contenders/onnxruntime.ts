/** ONNX Runtime's CPU provider on single-op models, with its result, too, written where it was before. */
import { createRequire } from 'node:module';
import { type Case, inputsOf, sizeOf } from '../cases.ts';
import { nodeOf, singleOpModel } from '../onnx.ts';
import type { Absent, Contender, Team } from './contender.ts';
import { local } from './local.ts';

type Ort = typeof import('onnxruntime-node');

const NAME = 'onnxruntime';

export async function onnxruntime(threads: number): Promise<Team | Absent> {
  let ort: Ort;
  try {
    ort = await import('onnxruntime-node');
  } catch {
    return { name: NAME, reason: 'not installed (npm install --no-save onnxruntime-node)' };
  }
  const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string };
  return { name: NAME, role: 'peer', version, enter: (one) => enter(ort, one, threads), close: async () => {} };
}

async function enter(ort: Ort, one: Case, threads: number): Promise<Contender | string> {
  const node = nodeOf(one);
  if (!node) return 'its CPU provider convolves NCHW only';
  const inputs = inputsOf(one);
  const names = Object.keys(node.inputs);
  const constants = one.has('prepacked') ? { [names[1]!]: inputs[1]! } : {};
  const model = singleOpModel({ ...node, constants });
  const options = { intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3 } as const;
  const session = await ort.InferenceSession.create(model, options);
  const given = names.map((name, at) => [name, new ort.Tensor('float32', inputs[at]!, node.inputs[name]!)] as const);
  const feeds = Object.fromEntries(given.filter(([name]) => !constants[name]));
  const out = new Float32Array(sizeOf(node.output)).fill(Number.NaN);
  const fetches = { Y: new ort.Tensor('float32', out, node.output) };
  return local({
    name: NAME,
    role: 'peer',
    note: Object.keys(constants).length > 0 ? `${node.op}, constant weights` : node.op,
    threads,
    async: true,
    call: () => session.run(feeds, fetches),
    result: () => out,
    close: () => session.release(),
  });
}
