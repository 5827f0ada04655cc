import { Command, Option } from 'commander';
import { type ExplainOptions, type Explanation, explain, plan, UhopError } from '../index.ts';
import { UsageError } from './failure.ts';
import { bytes, duration } from './format.ts';
import { type Output, outputOf } from './output.ts';
import { table } from './table.ts';
import { numbers, shape, shapes, wholeNumber } from './values.ts';

const EXAMPLES = `
Examples:
  uhop explain matmul 1024x512 512x2048
  uhop explain matmul 64x512x1024 64x512x512 --transpose-a --dtype f64
  uhop explain conv2d 8x3x224x224 64x3x7x7 --stride 2 --padding 3 --activation relu
  uhop explain relu 1000000 --json | jq '.ranking[0].path'`;

type Flags = Readonly<Record<string, unknown>>;

/** `uhop explain` */
export function define(): Command {
  return new Command('explain')
    .description('Every path that could run an op with operands of these shapes: expected time, and why or why not.')
    .argument('<op>', 'matmul, conv2d or relu')
    .argument('<shapes...>', 'shapes of the operands, e.g. 1024x512 512x2048', shapes)
    .addOption(new Option('--dtype <dtype>', 'element type').choices(['f32', 'f64', 'f16', 'bf16']))
    .option('--backend <id>', 'force a backend or a path id')
    .addOption(new Option('--precision <precision>', 'how strictly f32 means f32').choices(['strict', 'fast']))
    .addOption(new Option('--activation <name>', 'fused activation').choices(['none', 'relu']))
    .option('--bias <shape>', 'shape of a bias', shape)
    .option('--transpose-a', 'matmul: a is stored transposed')
    .option('--transpose-b', 'matmul: b is stored transposed')
    .option('--stride <n>', 'conv2d: n or h,w', numbers)
    .option('--padding <padding>', 'conv2d: valid, same, same-lower, n, h,w or top,left,bottom,right', padding)
    .option('--dilation <n>', 'conv2d: n or h,w', numbers)
    .option('--groups <n>', 'conv2d: groups of channels', wholeNumber)
    .addOption(new Option('--layout <layout>', 'conv2d: order of the axes').choices(['nchw', 'nhwc']))
    .addHelpText('after', EXAMPLES)
    .action(show);
}

async function show(
  op: string,
  operands: readonly (readonly number[])[],
  flags: Flags,
  command: Command,
): Promise<void> {
  const output = outputOf(command);
  const { json: _json, verbose: _verbose, ...options } = flags;
  const name = op as Explanation['op'];
  const found = await asUsage(() => explain(name, operands, options as ExplainOptions));
  output.document(found);
  const { backend: _backend, ...described } = options as ExplainOptions;
  const { outShape, flops, traffic } = plan(name, operands, described);
  output.data(
    `${op} → ${outShape.join('×') || 'scalar'} ${found.call.dtype}, ${(flops / 1e9).toPrecision(3)} GFLOP, ${bytes(traffic)} to move\n`,
  );
  output.data(ranking(found, output));
}

function ranking({ ranking: ranked, passedOver }: Explanation, output: Output): string {
  const rows = ranked.map(({ path, kernel, seconds, source, chosen, why }) => [
    chosen ? output.style('green', `→ ${path}`) : `  ${path}`,
    duration(seconds),
    source,
    kernel ?? '',
    why,
  ]);
  const others = passedOver.map(({ backend, reason }) => [
    output.style('dim', `  ${backend}`),
    '—',
    '',
    '',
    `${reason.message} [${reason.code}]`,
  ]);
  return table(
    [
      { title: '  PATH' },
      { title: 'EXPECTED', align: 'right' },
      { title: 'SOURCE' },
      { title: 'KERNEL' },
      { title: 'WHY' },
    ],
    [...rows, ...others],
  );
}

function padding(text: string): string | number | readonly number[] {
  return /^[\d,]+$/.test(text) ? numbers(text) : text;
}

/** What an op finds wrong with its arguments is here a fault of the command line. */
async function asUsage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UhopError) || error.code === 'E_BACKEND_UNAVAILABLE') throw error;
    throw new UsageError(error.message, '`uhop explain --help` shows examples', error.code);
  }
}
