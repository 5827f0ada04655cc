import { conv2d, tensor } from '../../index.ts';
import type { Images } from './digits.ts';
import type { Panel } from './sheet.ts';

type Colour = Panel['tint'];

interface Filter {
  readonly name: string;
  /** 3×3, row after row, scaled so that the strongest possible edge answers 1. */
  readonly weights: readonly number[];
  readonly tint: Colour;
}

const sobel = (weights: readonly number[]): readonly number[] => weights.map((weight) => weight / 4);

/** Sobel's gradients in four directions (relu keeps the rising side of each) and the Laplacian. */
const FILTERS: readonly Filter[] = [
  { name: 'left edges', weights: sobel([-1, 0, 1, -2, 0, 2, -1, 0, 1]), tint: [255, 120, 90] },
  { name: 'right edges', weights: sobel([1, 0, -1, 2, 0, -2, 1, 0, -1]), tint: [90, 200, 255] },
  { name: 'top edges', weights: sobel([-1, -2, -1, 0, 0, 0, 1, 2, 1]), tint: [255, 210, 80] },
  { name: 'bottom edges', weights: sobel([1, 2, 1, 0, 0, 0, -1, -2, -1]), tint: [120, 230, 140] },
  { name: 'Laplacian', weights: [0, -1, 0, -1, 4, -1, 0, -1, 0].map((weight) => weight / 2), tint: [215, 150, 255] },
];
const ORIGINAL: Filter = {
  name: 'original',
  weights: [-0.5, -0.5, -0.5, -0.5, 0.5, -0.5, -0.5, -0.5, -0.5],
  tint: [240, 244, 248],
};
const EXAMPLES_A_ROW = 2;

/** Edge maps [images, filters, height, width] of the fused conv2d + relu. */
export interface Edges {
  readonly images: number;
  readonly filters: readonly string[];
  readonly path: string;
  readonly ms: number;
  readonly maps: Float32Array;
  /** Largest difference to the plain TypeScript loops over the same images. */
  readonly largestDifference: number;
}

/** Filters the first `count` images on the best path, and once more on the naive one to compare. */
export async function findEdges(images: Images, count: number, backend?: string): Promise<Edges> {
  const { height, width } = images;
  const pixels = images.pixels.subarray(0, count * height * width);
  const x = tensor(pixels, [count, 1, height, width]);
  const w = tensor(Float32Array.from(FILTERS.flatMap(({ weights }) => weights)), [FILTERS.length, 1, 3, 3]);
  const options = { padding: 1, activation: 'relu' } as const;
  const begun = performance.now();
  const fast = await conv2d(x, w, { ...options, ...(backend ? { backend } : {}) });
  const ms = performance.now() - begun;
  const plain = await conv2d(x, w, { ...options, backend: 'naive' });
  const maps = fast.data as Float32Array;
  return {
    images: count,
    filters: FILTERS.map(({ name }) => name),
    path: fast.path,
    ms,
    maps,
    largestDifference: maps.reduce((most, value, at) => Math.max(most, Math.abs(value - (plain.data[at] ?? 0))), 0),
  };
}

/** Rows for the contact sheet: the filters themselves on top, then images of each class, each beside its edge maps. */
export function sheetRows(images: Images, edges: Edges): readonly (readonly Panel[])[] {
  const { height, width } = images;
  const size = height * width;
  const panel = (pixels: Float32Array, index: number, tint: Colour): Panel => ({
    pixels: pixels.subarray(index * size, (index + 1) * size),
    height,
    width,
    tint,
  });
  const filters = [ORIGINAL, ...FILTERS].map(({ weights, tint }) => ({
    pixels: weights.map((weight) => weight + 0.5),
    height: 3,
    width: 3,
    tint,
  }));
  const head = Array.from({ length: EXAMPLES_A_ROW }, () => filters).flat();
  const rows = examples(images, edges.images).map((row) =>
    row.flatMap((index) => [
      panel(images.pixels, index, ORIGINAL.tint),
      ...FILTERS.map(({ tint }, at) => panel(edges.maps, index * FILTERS.length + at, tint)),
    ]),
  );
  return [head, ...rows];
}

/** For each class, the first few of the first `count` images. */
function examples(images: Images, count: number): readonly (readonly number[])[] {
  const labels = [...images.labels.subarray(0, count)];
  const classes = [...new Set(labels)].toSorted((a, b) => a - b);
  return classes.map((label) =>
    labels.flatMap((each, index) => (each === label ? [index] : [])).slice(0, EXAMPLES_A_ROW),
  );
}
