/**
 * `npm run bench`: the cpu backend against ONNX Runtime with the same threads, in one process, turn by turn.
 * --quick leaves the largest shapes out and takes fewer rounds; --json prints one JSON document.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { cpu } from '../backends/cpu.ts';
import { type Case, cases, matmulCase } from './cases.ts';
import { loadOrt, onnxRuntime, ours, plainLoops } from './contenders.ts';
import { type Contender, interleave, random, type Timing } from './measure.ts';

interface Row {
  readonly label: string;
  readonly gflops: number;
  readonly timings: readonly Timing[];
  /** Times as fast as the peer. */
  readonly ratio: number | null;
}

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'boolean' } } });
const quick = values.quick ?? false;
const rounds = quick ? 9 : 15;
const threads = cpu.probeSync()[0]?.threads ?? 1;

async function measure(one: Case, contenders: readonly Contender[]): Promise<Row> {
  const timings = await interleave(contenders, rounds);
  const [mine, peer] = timings;
  const ratio = peer ? peer.median / mine!.median : null;
  return { label: one.label, gflops: one.flops / mine!.median / 1e6, timings, ratio };
}

function line({ label, gflops, timings, ratio }: Row): string {
  const columns = timings.map(
    ({ name, median, spread }) => `${name} ${median.toFixed(3)} ms ±${(spread * 100).toFixed(0)}%`,
  );
  const against = ratio === null ? '' : `${ratio.toFixed(2)}x`;
  return `${label.padEnd(28)} ${against.padStart(8)} ${gflops.toFixed(1).padStart(7)} GFLOP/s   ${columns.join(', ')}`;
}

async function main(): Promise<void> {
  const ort = await loadOrt();
  const rows: Row[] = [];
  const report = async (one: Case, contenders: readonly Contender[]): Promise<void> => {
    const row = await measure(one, contenders);
    rows.push(row);
    if (!values.json) console.log(line(row));
  };
  const machine = { cpu: cpus()[0]?.model, node: process.version, threads, isas: cpu.probeSync()[0]?.features };
  if (!values.json) console.log(`${machine.cpu}, ${threads} threads, ${machine.isas?.join(' ')}, ${rounds} rounds`);
  if (!ort) console.error('onnxruntime-node is not installed: no comparison');
  for (const one of cases(quick)) {
    const inputs = one.lengths.map(random);
    const peers = ort ? [await onnxRuntime(ort, one, inputs, threads)] : [];
    await report(one, [ours(one, inputs), ...peers]);
  }
  const small = matmulCase(128, 128, 128);
  const inputs = small.lengths.map(random);
  await report(small, [ours(small, inputs), plainLoops(128, 128, 128, inputs)]);
  if (values.json) console.log(JSON.stringify({ machine, rounds, rows }, null, 2));
}

await main();
