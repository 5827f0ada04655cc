import type { MatmulCall, Operands } from '../contract.ts';
import { allocating, type Numbers, numbers, positive, writing } from './elements.ts';

/** out[i,j] = act(Σ_k a[i,k]·b[k,j] + bias[j]), one row of f64 sums at a time, k ascending. */
export function matmul(call: MatmulCall, operands: Operands): void {
  const a = numbers(operands.inputs[0]!, call.dtype);
  const b = numbers(operands.inputs[1]!, call.dtype);
  const bias = operands.bias && numbers(operands.bias, call.dtype);
  writing(operands, call.dtype, (out) => fill(call, a, b, bias, out));
}

function fill(call: MatmulCall, a: Numbers, b: Numbers, bias: Numbers | undefined, out: Numbers): void {
  const { M, N, K } = call;
  const [rowA, stepA] = call.transposeA ? [1, M] : [K, 1];
  const [rowB, stepB] = call.transposeB ? [1, K] : [N, 1];
  const biasStep = call.bias === 'row' ? 1 : 0;
  const sums = allocating(() => new Float64Array(N));
  const items = call.batch.reduce((count, extent) => count * extent, 1);
  for (let item = 0; item < items; item++) {
    const fromA = offset(item, call.batch, call.batchStridesA);
    const fromB = offset(item, call.batch, call.batchStridesB);
    for (let i = 0; i < M; i++) {
      sums.fill(0);
      for (let k = 0; k < K; k++) {
        const left = a[fromA + i * rowA + k * stepA]!;
        const right = fromB + k * rowB;
        for (let j = 0; j < N; j++) sums[j]! += left * b[right + j * stepB]!;
      }
      const to = (item * M + i) * N;
      for (let j = 0; j < N; j++) {
        const sum = bias ? sums[j]! + bias[j * biasStep]! : sums[j]!;
        out[to + j] = call.activation === 'relu' ? positive(sum) : sum;
      }
    }
  }
}

/** Where batch item `item` starts. */
function offset(item: number, batch: readonly number[], strides: readonly number[]): number {
  let rest = item;
  let start = 0;
  for (let axis = batch.length - 1; axis >= 0; axis--) {
    const extent = batch[axis]!;
    start += (rest % extent) * strides[axis]!;
    rest = Math.floor(rest / extent);
  }
  return start;
}
