import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { devices } from '../index.ts';
import { loadImages } from './demo/data.ts';
import type { Images } from './demo/digits.ts';
import { findEdges, sheetRows } from './demo/edges.ts';
import { rowBlocks, sameBytes, sha256, writeNpy } from './demo/files.ts';
import { recognise } from './demo/neighbours.ts';
import { bytesLine, type Check, checksBlock, edgesLine, recognitionLine, runsTable } from './demo/report.ts';
import { interruptedRun, plainRun, type Setting } from './demo/runs.ts';
import { writeSheet } from './demo/sheet.ts';
import { EXIT } from './failure.ts';
import { duration } from './format.ts';
import { outputOf } from './output.ts';
import { interruptible } from './signals.ts';
import { wholeNumber } from './values.ts';

const IMAGES = 8000;
const IMAGES_NAIVE = 2000;
const EDGE_IMAGES = 1000;
const TILES = { down: 8, across: 5 };
const SCALE = 4;
/** conv2d sums nine products of numbers below 1: a few units of f32 rounding. */
const EDGE_TOLERANCE = 1e-5;

const EXAMPLES = `
Multiplies thousands of real images with one another as a durable job, kills its worker with SIGKILL in mid-tile, lets
another one resume, and compares the output with an undisturbed run's. Recognises digits from the product, and draws
edge maps into --out. Exit code 1 when any check fails.

Examples:
  uhop demo
  uhop demo --n 3000 --out /tmp/demo
  uhop demo --data images.npy --labels labels.npy     float32 (n, h, w) in [0, 1] and float32 (n,), shuffled`;

interface Flags {
  readonly n?: number;
  readonly out: string;
  readonly data?: string;
  readonly labels?: string;
  readonly backend?: string;
  readonly keep?: boolean;
}

/** `uhop demo` */
export function define(): Command {
  return new Command('demo')
    .description('A long job, kill -9 in mid-tile, nothing lost: the whole story on real images in about a minute.')
    .option(
      '--n <images>',
      `how many images (default: ${IMAGES}; ${IMAGES_NAIVE} where only plain loops can run)`,
      wholeNumber,
    )
    .option('--out <dir>', 'where the contact sheet goes', 'demo-out')
    .option('--data <images.npy>', 'your own images instead of the mnist digits')
    .option('--labels <labels.npy>', 'and their labels')
    .option('--backend <id>', 'use only this backend, e.g. cpu or naive')
    .option('--keep', 'keep the stores and products (under --out)')
    .addHelpText('after', EXAMPLES)
    .action(demo);
}

async function demo(flags: Flags, command: Command): Promise<void> {
  using interrupt = interruptible(outputOf(command));
  const out = resolve(flags.out);
  const work = join(out, `work-${process.pid}`);
  await mkdir(work, { recursive: true });
  try {
    await tell(flags, command, { out, work, signal: interrupt.signal });
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    process.exitCode = EXIT.interrupted;
  } finally {
    if (!flags.keep) await rm(work, { recursive: true, force: true });
  }
}

interface Place {
  readonly out: string;
  readonly work: string;
  readonly signal: AbortSignal;
}

async function tell(flags: Flags, command: Command, { out, work, signal }: Place): Promise<void> {
  const output = outputOf(command);
  const begun = performance.now();
  const chapter = (title: string): void => output.data(`\n${output.style('bold', title)}`);

  const { count, onlyNaive } = await howMany(flags);
  const images = await loadImages(count, flags.data, flags.labels);
  const { height, width } = images;
  output.data(`${images.count} images of ${height}×${width}: ${images.source}`);
  if (onlyNaive && !flags.n)
    output.data(`only plain TypeScript loops can run here, so ${IMAGES_NAIVE} instead of ${IMAGES}; see uhop doctor`);

  const flops = 2 * images.count ** 2 * height * width;
  chapter('1  A durable job, and kill -9');
  output.data(
    `X·Xᵀ of all images with each other: ${(flops / 1e9).toFixed(1)} GFLOP, ${images.count}×${images.count} products`,
  );
  const spec = await gramSpec(images, work);
  const setting = { spec, backend: flags.backend, signal, watch: !output.json };
  const interrupted = await interruptedRun({ ...setting, folder: join(work, 'interrupted') });
  const { first, second } = interrupted;
  output.data(
    `worker ${first.pid} killed with SIGKILL in mid-tile, ${first.computed} of ${interrupted.tiles} tiles safe`,
  );
  output.data(`worker ${second.pid} at work on the rest ${duration(interrupted.takeoverMs / 1000)} after the kill`);
  const plain = await plainRun({ ...setting, folder: join(work, 'undisturbed') });
  output.data(runsTable(interrupted, plain));
  const same = await sameBytes(interrupted.output, plain.output);
  const hash = await sha256(interrupted.output);
  output.data(bytesLine(plain, same));

  chapter('2  Are the numbers right?');
  const recognition = await recognise(rowBlocks(interrupted.output), images.labels, Math.floor(images.count * 0.8));
  output.data(recognitionLine(recognition));

  chapter('3  Edges by conv2d + relu');
  const edges = await findEdges(images, Math.min(images.count, EDGE_IMAGES), flags.backend);
  const sheet = join(out, 'edges.png');
  await writeSheet(sheet, sheetRows(images, edges), SCALE);
  output.data(edgesLine(edges));
  output.data(`look at ${sheet}`);

  const checks: readonly Check[] = [
    { name: 'the worker was killed with tiles done and tiles to do', ok: first.computed > 0 && second.computed > 0 },
    { name: 'every tile safe at the kill was reused, none computed again', ok: second.reused === first.computed },
    {
      name: 'together the workers computed each tile once',
      ok: first.computed + second.computed === interrupted.tiles,
    },
    { name: 'the output is the undisturbed run’s, byte for byte', ok: same },
    {
      name: 'its SHA-256 is the one in both results',
      ok: [interrupted, plain].every((run) => run.result.sha256 === hash),
    },
    { name: 'more than 90 % of the held-out images are recognised', ok: recognition.accuracy > 0.9 },
    { name: 'the edge maps agree with plain loops', ok: edges.largestDifference < EDGE_TOLERANCE },
  ];
  const seconds = (performance.now() - begun) / 1000;
  chapter(`${checks.filter(({ ok }) => ok).length} of ${checks.length} checks hold, ${duration(seconds)} in all`);
  output.data(checksBlock(checks, (ok, text) => output.style(ok ? 'green' : 'red', text)));
  if (flags.keep) output.data(`stores, spec and products: ${work}`);
  const { maps: _pixels, ...edgeFigures } = edges;
  output.document({
    images: { source: images.source, count: images.count, height, width },
    interrupted,
    plain,
    sha256: hash,
    recognition,
    edges: edgeFigures,
    sheet,
    checks,
    seconds,
  });
  if (!checks.every(({ ok }) => ok)) process.exitCode = EXIT.failure;
}

async function howMany(flags: Flags): Promise<{ readonly count: number; readonly onlyNaive: boolean }> {
  const found = await devices();
  const onlyNaive =
    flags.backend === 'naive' ||
    !found.some(({ usable, backend, software }) => usable && !software && backend !== 'naive');
  return { count: flags.n ?? (onlyNaive ? IMAGES_NAIVE : IMAGES), onlyNaive };
}

/** The images as one matrix in a file, and the job that multiplies it with its own transpose. */
async function gramSpec({ pixels, count, height, width }: Images, work: string): Promise<Setting['spec']> {
  const path = join(work, 'images.npy');
  await writeNpy(path, pixels, [count, height * width]);
  return {
    op: 'matmul',
    inputs: { a: path, b: path },
    attrs: { transposeB: true },
    tile: { rows: Math.ceil(count / TILES.down), cols: Math.ceil(count / TILES.across) },
  };
}
