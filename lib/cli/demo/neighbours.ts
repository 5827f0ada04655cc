/** What the nearest-neighbour check found. */
export interface Recognition {
  readonly train: number;
  readonly tested: number;
  readonly right: number;
  readonly accuracy: number;
}

/**
 * Accuracy of the 1-nearest-neighbour rule, from a Gram matrix G = X·Xᵀ alone: |x − y|² = G(x,x) + G(y,y) − 2·G(x,y).
 * The first `train` rows are the known examples, the others are classified. `blocks` yields whole rows of G in order,
 * any number at a time, so that G itself may be far larger than memory.
 * (Cover and Hart, Nearest neighbor pattern classification, 1967.)
 */
export async function recognise(
  blocks: AsyncIterable<Float32Array>,
  labels: Uint8Array,
  train: number,
): Promise<Recognition> {
  const n = labels.length;
  const squares = new Float64Array(train);
  let row = 0;
  let right = 0;
  for await (const block of blocks) {
    for (let at = 0; at < block.length; at += n) {
      if (row < train) squares[row] = block[at + row] ?? 0;
      else if (labels[nearest(block.subarray(at, at + train), squares)] === labels[row]) right += 1;
      row += 1;
    }
  }
  const tested = n - train;
  return { train, tested, right, accuracy: right / tested };
}

/** The index of the smallest squares[i] − 2·products[i]; the classified row's own square is the same for all. */
function nearest(products: Float32Array, squares: Float64Array): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < products.length; at += 1) {
    const distance = (squares[at] ?? 0) - 2 * (products[at] ?? 0);
    if (distance < least) {
      least = distance;
      best = at;
    }
  }
  return best;
}
