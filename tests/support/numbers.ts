/** Deterministic data: mulberry32 (https://gist.github.com/tommyettinger/46a874533244883189143505d203312c). */
export function randomNumbers(length: number, seed: number): Float64Array {
  let state = seed >>> 0;
  return Float64Array.from({ length }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}

export function randomFloats(length: number, seed: number): Float32Array {
  return Float32Array.from(randomNumbers(length, seed));
}
