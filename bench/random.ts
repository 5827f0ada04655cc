/** Operand `seed` of a case, the numbers of `random` in peers/peer.h: xorshift32, upper 24 bits, in [-0.5, 0.5). */
export function random(length: number, seed: number): Float32Array {
  const numbers = new Float32Array(length);
  let state = Math.imul(seed, 2654435761);
  for (let at = 0; at < length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    numbers[at] = (state >>> 8) / 2 ** 24 - 0.5;
  }
  return numbers;
}
