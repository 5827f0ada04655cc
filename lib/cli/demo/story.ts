import { join } from 'node:path';
import { duration } from '../format.ts';
import type { Output } from '../output.ts';
import type { Images } from './digits.ts';
import { type Edges, findEdges, sheetRows } from './edges.ts';
import { rowBlocks, sameBytes, sha256, writeNpy } from './files.ts';
import { type Recognition, recognise } from './neighbours.ts';
import { bytesLine, edgesLine, recognitionLine, runsTable } from './report.ts';
import { type InterruptedRun, interruptedRun, type PlainRun, plainRun, type Setting } from './runs.ts';
import { writeSheet } from './sheet.ts';

const TILES = { down: 8, across: 5 };
const TRAIN_SHARE = 0.8;
const EDGE_IMAGES = 1000;
const SCALE = 4;

/** What the demo works with. */
export interface Stage {
  readonly images: Images;
  /** Where the contact sheet goes, and a folder for everything else. */
  readonly out: string;
  readonly work: string;
  readonly backend?: string | undefined;
  readonly signal: AbortSignal;
  readonly output: Output;
}

export interface JobChapter {
  readonly interrupted: InterruptedRun;
  readonly plain: PlainRun;
  /** Of the interrupted run's output, hashed here. */
  readonly sha256: string;
  readonly identical: boolean;
}

/** X·Xᵀ of all images with one another, once with a killed worker and once undisturbed. */
export async function jobChapter(stage: Stage): Promise<JobChapter> {
  const { images, work, output } = stage;
  const { count, height, width } = images;
  const flops = 2 * count ** 2 * height * width;
  heading(output, '1  A durable job, and kill -9');
  output.data(`X·Xᵀ of all images with one another: ${count}×${count}, ${(flops / 1e9).toFixed(1)} GFLOP`);
  const spec = await gramSpec(images, work);
  const setting = { ...stage, spec, watch: !output.json };
  const interrupted = await interruptedRun({ ...setting, folder: join(work, 'interrupted') });
  const { first, second, tiles, intoTileMs, takeoverMs } = interrupted;
  const moment = `${duration(intoTileMs / 1000)} into a tile`;
  output.data(`SIGKILL to worker ${first.pid}, ${moment}, with ${first.computed} of ${tiles} tiles safe`);
  output.data(`worker ${second.pid} computing ${duration(takeoverMs / 1000)} after the kill\n`);
  const plain = await plainRun({ ...setting, folder: join(work, 'undisturbed') });
  output.data(`${runsTable(interrupted, plain)}\n`);
  const identical = await sameBytes(interrupted.output, plain.output);
  output.data(bytesLine(plain, identical));
  return { interrupted, plain, sha256: await sha256(interrupted.output), identical };
}

/** Recognises the last fifth of the images by their nearest among the others, from the product alone. */
export async function recognitionChapter({ images, output }: Stage, product: string): Promise<Recognition> {
  heading(output, '2  Are the numbers right?');
  const train = Math.floor(images.count * TRAIN_SHARE);
  const recognition = await recognise(rowBlocks(product), images.labels, train);
  output.data(recognitionLine(recognition));
  return recognition;
}

export interface EdgesChapter {
  readonly edges: Edges;
  readonly sheet: string;
}

/** Edge maps of the images, drawn for a person to look at. */
export async function edgesChapter({ images, out, backend, output }: Stage): Promise<EdgesChapter> {
  heading(output, '3  Edges by conv2d + relu');
  const edges = await findEdges(images, Math.min(images.count, EDGE_IMAGES), backend);
  const sheet = join(out, 'edges.png');
  await writeSheet(sheet, sheetRows(images, edges), SCALE);
  output.data(edgesLine(edges));
  output.data(`look at ${sheet}`);
  return { edges, sheet };
}

/** A title above what follows. */
export function heading(output: Output, title: string): void {
  output.data(`\n${output.style('bold', title)}`);
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
