/** The sgemm of @stdlib/blas: what npm offers in plain JavaScript. */
import { type Case, inputsOf } from '../cases.ts';
import type { Absent, Contender, Team } from './contender.ts';
import { local } from './local.ts';
import { optional } from './optional.ts';

type Sgemm = (
  ...call: [
    ...[order: 'row-major', transA: string, transB: string, M: number, N: number, K: number],
    ...[alpha: number, a: Float32Array, lda: number, b: Float32Array, ldb: number],
    ...[beta: number, out: Float32Array, ldc: number],
  ]
) => unknown;

const NAME = 'stdlib-blas';

export async function stdlib(): Promise<Team | Absent> {
  try {
    const [sgemm] = optional(['@stdlib/blas/base/sgemm'], '@stdlib/blas') as [Sgemm];
    const [{ version }] = optional(['@stdlib/blas/package.json'], '@stdlib/blas') as [{ version: string }];
    return {
      name: NAME,
      role: 'floor',
      version,
      rate: 2.5e8,
      enter: async (one) => enter(sgemm, one),
      close: async () => {},
    };
  } catch (error) {
    return { name: NAME, reason: (error as Error).message };
  }
}

function enter(sgemm: Sgemm, one: Case): Contender | string {
  const { call } = one;
  if (call.op !== 'matmul') return `no ${call.op} there`;
  if (call.batch.length > 0) return 'one product at a time';
  const { M, N, K, transposeA, transposeB } = call;
  const [a, b] = inputsOf(one) as [Float32Array, Float32Array];
  const out = new Float32Array(M * N).fill(Number.NaN);
  const kind = (transposed: boolean): string => (transposed ? 'transpose' : 'no-transpose');
  const [left, right] = [kind(transposeA), kind(transposeB)];
  const [lda, ldb] = [transposeA ? M : K, transposeB ? K : N];
  const run = () => sgemm('row-major', left, right, M, N, K, 1, a, lda, b, ldb, 0, out, N);
  return local({ name: NAME, role: 'floor', note: 'sgemm', threads: 1, call: run, result: () => out });
}
