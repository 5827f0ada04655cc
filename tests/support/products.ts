/** The f64 reference of one product and the checker of what a kernel made of it. */
import type { MatmulCall } from '../../backends/contract.ts';
import type { Floats } from './native.ts';

export interface Reference {
  readonly value: Float64Array;
  /** |A|·|B| + |bias| of each element. */
  readonly scale: Float64Array;
}

export function product(call: MatmulCall, a: Floats, b: Floats, bias?: Floats): Reference {
  const { M, N, K, transposeA, transposeB } = call;
  const value = new Float64Array(M * N);
  const scale = new Float64Array(M * N);
  for (let m = 0; m < M; m++) {
    for (let n = 0; n < N; n++) {
      let sum = 0;
      let size = 0;
      for (let k = 0; k < K; k++) {
        const term = a[transposeA ? k * M + m : m * K + k]! * b[transposeB ? n * K + k : k * N + n]!;
        sum += term;
        size += Math.abs(term);
      }
      const added = bias ? bias[call.bias === 'scalar' ? 0 : n]! : 0;
      const before = sum + added;
      value[m * N + n] = call.activation === 'relu' && before <= 0 ? 0 : before;
      scale[m * N + n] = size + Math.abs(added);
    }
  }
  return { value, scale };
}

/** Unit roundoff and smallest number, of the sums and of 16-bit elements. */
const SUMS = { f32: [2 ** -24, 2 ** -149], f64: [2 ** -53, 2 ** -1074] } as const;
const STORES = { f16: [2 ** -11, 2 ** -24], bf16: [2 ** -8, 2 ** -133] } as const;

/**
 * The first element that is not |y - ref| ≤ γ·scale with γ = n·u/(1 - n·u), n = K + 1 (Higham 2002, §3.1), u the unit
 * roundoff; NaN and infinities must agree exactly. Empty when all are right. For f64 the reference rounds as well, and
 * 16-bit elements are rounded once more when they are stored.
 */
export function firstWrong(call: MatmulCall, got: Floats, { value, scale }: Reference): string {
  const { dtype, K } = call;
  const [roundoff, smallest] = SUMS[dtype === 'f64' ? 'f64' : 'f32'];
  const [storing, step] = dtype === 'f16' || dtype === 'bf16' ? STORES[dtype] : [0, 0];
  const u = dtype === 'f64' ? 2 * roundoff : roundoff;
  const n = K + 1;
  const gamma = (n * u) / (1 - n * u);
  const wrong = got.findIndex((y, at) => {
    const reference = value[at]!;
    if (!Number.isFinite(reference)) return !Object.is(y, reference);
    const summed = gamma * scale[at]! + n * smallest;
    const stored = storing === 0 ? 0 : storing * (Math.abs(reference) + summed) + step / 2;
    return !(Math.abs(y - reference) <= summed + stored);
  });
  if (got.length !== value.length) return `${got.length} elements, expected ${value.length}`;
  return wrong < 0 ? '' : `element ${wrong} is ${got[wrong]}, expected ${value[wrong]}`;
}
