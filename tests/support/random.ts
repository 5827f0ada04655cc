/** Reproducible numbers: mulberry32. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` numbers of either sign whose magnitudes spread over six powers of two. */
export function values(count: number, seed: number): Float64Array {
  const next = generator(seed);
  return Float64Array.from({ length: count }, () => (next() - 0.5) * 2 ** Math.floor(next() * 6));
}

/** `count` integers in [-9, 9], whose sums of products are exact in f32. */
export function integers(count: number, seed: number): Float64Array {
  const next = generator(seed);
  return Float64Array.from({ length: count }, () => Math.floor(next() * 19) - 9);
}
