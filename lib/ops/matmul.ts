import { type DType, type MatmulCall, UhopError } from '../../backends/contract.ts';
import { checkBoolean, checkChoice, type Shape } from './arguments.ts';
import { broadcast, broadcastStrides } from './broadcast.ts';
import type { Attributes, Described, Op } from './describe.ts';
import { sizeOf } from './sizes.ts';

export interface MatmulAttributes extends Attributes {
  readonly transposeA?: boolean | undefined;
  readonly transposeB?: boolean | undefined;
}

/** NumPy's and ONNX's `MatMul`, plus transposes of the last two axes, a bias along the last axis and an activation. */
export const matmul: Op = {
  name: 'matmul',
  operands: ['a', 'b'],
  attributes: ['transposeA', 'transposeB', 'bias', 'activation', 'precision'],
  describe: ([a, b], dtype, attributes) => describe(a!, b!, dtype, attributes),
};

function describe(a: Shape, b: Shape, dtype: DType, attributes: MatmulAttributes): Described<MatmulCall> {
  const transposeA = checkBoolean(attributes.transposeA, 'matmul: transposeA');
  const transposeB = checkBoolean(attributes.transposeB, 'matmul: transposeB');
  const left = matrix(a, 'a', transposeA);
  const right = matrix(b, 'b', transposeB);
  // A 1-D operand is a row on the left and a column on the right.
  const [M, K] = a.length === 1 ? [1, a[0]!] : [left.rows, left.columns];
  const [inner, N] = b.length === 1 ? [b[0]!, 1] : [right.rows, right.columns];
  if (K !== inner) {
    const [given, other] = [stored(a, 'a', transposeA), stored(b, 'b', transposeB)];
    throw new UhopError('E_SHAPE', `matmul: inner sizes differ: ${given} has K = ${K}, ${other} has K = ${inner}`, {
      a,
      b,
    });
  }
  const axes = broadcast(left.batch, right.batch, 'matmul: the leading axes of a and b,');
  const outShape = [...axes, ...(a.length === 1 ? [] : [M]), ...(b.length === 1 ? [] : [N])];
  sizeOf(outShape);

  const bias = biasKind(attributes.bias, outShape);
  if (bias === 'row' && b.length === 1) {
    // The last axis of a·b is M here; x·aᵀ is the same product with that axis where a bias row belongs.
    const swapped = describe(b, a, dtype, { ...attributes, transposeA: false, transposeB: !transposeA });
    return { call: swapped.call, order: [1, 0] };
  }
  const batchStridesA = broadcastStrides(left.batch, axes, M * K);
  const batchStridesB = broadcastStrides(right.batch, axes, K * N);
  const call: MatmulCall = {
    op: 'matmul',
    dtype,
    precision: checkChoice(attributes.precision, ['strict', 'fast'], 'matmul: precision'),
    M,
    N,
    K,
    transposeA,
    transposeB,
    batch: axes,
    batchStridesA,
    batchStridesB,
    bias,
    activation: checkChoice(attributes.activation, ['none', 'relu'], 'matmul: activation'),
    outShape,
  };
  const oneB = sizeOf(right.batch) === 1;
  const foldable = oneB && !transposeA && sizeOf(outShape) > 0;
  return { call: foldable ? foldBatch(call) : call, order: [0, 1] };
}

/** Items under each other, all times one b, are one tall product. */
function foldBatch(call: MatmulCall): MatmulCall {
  return { ...call, M: sizeOf([...call.batch, call.M]), batch: [], batchStridesA: [], batchStridesB: [] };
}

function matrix(shape: Shape, name: string, transpose: boolean) {
  if (shape.length === 0) {
    throw new UhopError('E_SHAPE', `matmul: ${name} is a scalar, expected at least one axis`);
  }
  if (shape.length === 1 && transpose) {
    const option = `transpose${name.toUpperCase()}`;
    throw new UhopError('E_SHAPE', `matmul: ${option} needs at least two axes, ${name} is [${shape[0]}]`);
  }
  const [first, second] = [shape.at(-2) ?? 1, shape.at(-1)!];
  const [rows, columns] = transpose ? [second, first] : [first, second];
  return { rows, columns, batch: shape.slice(0, -2) };
}

function stored(shape: Shape, name: string, transpose: boolean): string {
  return `${name} [${shape.join(', ')}]${transpose ? ' transposed' : ''}`;
}

function biasKind(bias: Shape | undefined, outShape: Shape): MatmulCall['bias'] {
  if (bias === undefined) return 'none';
  const last = outShape.at(-1) ?? 1;
  if (bias.length === 0 || (bias.length === 1 && bias[0] === 1)) return 'scalar';
  if (bias.length === 1 && bias[0] === last) return 'row';
  throw new UhopError(
    'E_SHAPE',
    `matmul: bias is [${bias.join(', ')}], expected [${last}] (the last axis of the result), [1] or []`,
    { bias, outShape },
  );
}
