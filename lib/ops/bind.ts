/** From a user's arguments to a valid call and the arrays it reads and writes. */
import { type Call, type DType, type Tensor, type TensorData, UhopError } from '../../backends/contract.ts';
import { asTensor } from '../tensor.ts';
import type { Attributes, Op } from './describe.ts';

/** A call with its data. Nothing is copied or allocated yet. */
export interface Bound {
  readonly call: Call;
  readonly inputs: readonly TensorData[];
  readonly bias: TensorData | undefined;
  /** Where the user wants the result, when that was said. */
  readonly out: TensorData | undefined;
}

/** Checks the tensors and attributes of an op. `options` may hold others, which are not looked at. */
export function bind(op: Op, values: readonly unknown[], options: Readonly<Record<string, unknown>>): Bound {
  const tensors = values.map((value, index) => asTensor(value, `${op.name}: ${op.operands[index]}`));
  const bias = options.bias === undefined ? undefined : asTensor(options.bias, `${op.name}: bias`);
  const { dtype } = tensors[0]!;
  for (const [index, { dtype: other }] of tensors.entries()) sameType(op, dtype, other, op.operands[index]!);
  if (bias) sameType(op, dtype, bias.dtype, 'bias');
  const attributes = { ...options, bias: bias?.shape } as Attributes;
  const { call, order } = op.describe(
    tensors.map(({ shape }) => shape),
    dtype,
    attributes,
  );
  return {
    call,
    inputs: order.map((index) => tensors[index]!.data),
    bias: bias?.data,
    out: options.out === undefined ? undefined : destination(op, asTensor(options.out, `${op.name}: out`), call),
  };
}

/** Throws `E_DTYPE` unless an operand has the call's type. */
export function sameType(op: Op, dtype: DType, other: DType, name: string): void {
  if (other === dtype) return;
  const message = `${op.name}: ${name} is ${other}, but the call is ${dtype}; convert one of them`;
  throw new UhopError('E_DTYPE', message, { expected: dtype, got: other });
}

function destination(op: Op, out: Tensor, call: Call): TensorData {
  sameType(op, call.dtype, out.dtype, 'out');
  const { outShape } = call;
  if (out.shape.length === outShape.length && out.shape.every((extent, axis) => extent === outShape[axis])) {
    return out.data;
  }
  const [got, expected] = [out.shape.join(', '), outShape.join(', ')];
  throw new UhopError('E_SHAPE', `${op.name}: out is [${got}], the result is [${expected}]`, {
    expected: outShape,
    got: out.shape,
  });
}
