/**
 * The reference: plain loops in TypeScript, every sum in f64 and rounded once when it is stored. Always there, always
 * right, and the floor of every benchmark.
 */
import type { Call, Device, Operands, Path, SyncBackend } from './contract.ts';
import { limits } from './limits.ts';
import { conv2d } from './naive/conv2d.ts';
import { matmul } from './naive/matmul.ts';
import { relu } from './naive/relu.ts';

const ID = 'naive:js';

/** Operations a second that plain loops manage on a common core; a fresh process starts slower. */
const RATES = { matmul: 5e8, conv2d: 2e8, relu: 2e8 } as const;
const CALL_SECONDS = 2e-7;

const describe = (): Device => ({
  id: 'naive',
  backend: 'naive',
  name: 'plain JavaScript',
  built: true,
  present: true,
  usable: true,
  features: ['f32', 'f64', 'f16', 'bf16'],
  memoryBytes: limits().memoryBytes,
  threads: 1,
  versions: { node: process.versions.node, v8: process.versions.v8 },
});

/** What the loops go through: two per tap of a sum, one per element of relu. */
function work(call: Call): number {
  if (call.op === 'relu') return call.length;
  if (call.op === 'matmul') return call.outShape.reduce((n, extent) => n * extent, 2) * (call.K + 1);
  return call.outShape.reduce((n, extent) => n * extent, 2) * ((call.C / call.groups) * call.KH * call.KW + 1);
}

function run(call: Call, operands: Operands): void {
  if (call.op === 'matmul') matmul(call, operands);
  else if (call.op === 'conv2d') conv2d(call, operands);
  else relu(call, operands);
}

export const naive: SyncBackend = {
  id: 'naive',
  probe: async () => [describe()],
  probeSync: () => [describe()],
  paths: (call): readonly Path[] => [
    {
      id: ID,
      backend: 'naive',
      seconds: CALL_SECONDS + work(call) / RATES[call.op],
      source: 'estimate',
      inline: true,
      isa: 'js',
    },
  ],
  run: async (_path, call, operands) => run(call, operands),
  runSync: (_path, call, operands) => run(call, operands),
};
