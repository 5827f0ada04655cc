import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { explain } from '../index.ts';
import { loadImages } from './demo/data.ts';
import { type Check, checksBlock } from './demo/report.ts';
import { edgesChapter, heading, jobChapter, recognitionChapter, type Stage } from './demo/story.ts';
import { EXIT } from './failure.ts';
import { duration } from './format.ts';
import { outputOf } from './output.ts';
import { interruptible } from './signals.ts';
import { wholeNumber } from './values.ts';

const IMAGES = 8000;
/** What plain loops can do in that time. */
const FEWER_IMAGES = 2000;
const PATIENCE_SECONDS = 20;
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
      `how many images (default: ${IMAGES}; ${FEWER_IMAGES} where only plain loops can run)`,
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
  const output = outputOf(command);
  using interrupt = interruptible(output);
  const out = resolve(flags.out);
  const work = join(out, `work-${process.pid}`);
  const most = await affordable(flags.backend);
  const count = flags.n ?? most;
  if (!flags.n && most < IMAGES) output.note(`${IMAGES} images would take too long here, so ${most}: see uhop doctor`);
  const images = await loadImages(count, flags.data, flags.labels);
  await mkdir(work, { recursive: true });
  try {
    await tell({ images, out, work, backend: flags.backend, signal: interrupt.signal, output });
    if (flags.keep) output.data(`stores, specs and products: ${work}`);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    process.exitCode = EXIT.interrupted;
  } finally {
    if (!flags.keep) await rm(work, { recursive: true, force: true });
  }
}

async function tell(stage: Stage): Promise<void> {
  const { output, images } = stage;
  const { pixels: _pixels, labels: _labels, ...figures } = images;
  const begun = performance.now();
  output.data(`${images.count} images of ${images.height}×${images.width}: ${images.source}`);

  const job = await jobChapter(stage);
  const recognition = await recognitionChapter(stage, job.interrupted.output);
  const { edges, sheet } = await edgesChapter(stage);

  const { first, second, tiles, diedOf } = job.interrupted;
  const midway = first.computed > 0 && second.computed > 0;
  const hashes = [job.interrupted.result.sha256, job.plain.result.sha256];
  const checks: readonly Check[] = [
    { name: 'the first worker died of SIGKILL with tiles done and tiles to do', ok: diedOf === 'SIGKILL' && midway },
    { name: 'every tile that was safe at the kill was reused', ok: second.reused === first.computed },
    { name: 'together the two workers computed each tile once', ok: first.computed + second.computed === tiles },
    { name: 'at most the tile in flight was computed twice', ok: second.redone <= 1 },
    { name: 'the output is that of the undisturbed run, byte for byte', ok: job.identical },
    { name: 'its SHA-256 is the one that both results name', ok: hashes.every((hash) => hash === job.sha256) },
    { name: 'more than 90 % of the held-out images are recognised', ok: recognition.accuracy > 0.9 },
    { name: 'the edge maps agree with plain loops', ok: edges.largestDifference < EDGE_TOLERANCE },
  ];
  const holding = checks.filter(({ ok }) => ok).length;
  const seconds = (performance.now() - begun) / 1000;
  heading(output, `${holding} of ${checks.length} checks hold, ${duration(seconds)} in all`);
  output.data(checksBlock(checks, (ok, text) => output.style(ok ? 'green' : 'red', text)));
  const { maps: _maps, ...edgeFigures } = edges;
  output.document({ images: figures, ...job, recognition, edges: edgeFigures, sheet, checks, seconds });
  if (holding < checks.length) process.exitCode = EXIT.failure;
}

/** As many images as take well below a minute by the path that the job would run on. */
async function affordable(backend?: string): Promise<number> {
  const size = 28 * 28;
  const shapes = [
    [IMAGES, size],
    [size, IMAGES],
  ];
  const { ranking } = await explain('matmul', shapes, { backend });
  const seconds = ranking.find(({ chosen }) => chosen)?.seconds ?? 0;
  return seconds < PATIENCE_SECONDS ? IMAGES : FEWER_IMAGES;
}
