/** From a user's arguments to a valid call and the arrays it reads and writes. */
import {
  type Call,
  type DType,
  type Tensor,
  type TensorData,
  UhopError,
  type Weight,
} from '../../backends/contract.ts';
import { asOperand, asTensor } from '../tensor.ts';
import type { Op } from './describe.ts';
import { describe } from './recent.ts';
import { sizeOf } from './sizes.ts';
import { lengthOf } from './typed-arrays.ts';

/** A call with its data. Nothing is copied or allocated yet. */
export interface Bound {
  readonly call: Call;
  readonly inputs: readonly TensorData[];
  readonly bias: TensorData | undefined;
  /** Where the user wants the result, when that was said. */
  readonly out: TensorData | undefined;
  /** The second input, when it is prepacked. */
  readonly weight: Weight | undefined;
}

/** Checks the tensors and attributes of an op. `options` may hold others, which are not looked at. */
export function bind(op: Op, values: readonly unknown[], options: Readonly<Record<string, unknown>>): Bound {
  const named = (value: unknown, name: string): Tensor => asTensor(value, `${op.name}: ${name}`);
  const operands = values.map((value, index) => asOperand(value, `${op.name}: ${op.operands[index]}`));
  const tensors = operands.map(({ tensor }) => tensor);
  const bias = options.bias === undefined ? undefined : named(options.bias, 'bias');
  const out = options.out === undefined ? undefined : named(options.out, 'out');
  const { dtype } = tensors[0]!;
  tensors.forEach((other, index) => sameType(op, dtype, other.dtype, op.operands[index]!));
  if (bias) sameType(op, dtype, bias.dtype, 'bias');
  const shapes = tensors.map(({ shape }) => shape);
  const { call, order } = describe(op, shapes, dtype, options, bias?.shape);
  if (out) checkOut(op, out, call);
  for (const tensor of [...tensors, bias, out]) if (tensor) checkWhole(op, tensor);
  const inputs = order.map((index) => tensors[index]!.data);
  return { call, inputs, bias: bias?.data, out: out?.data, weight: operands[order[1] ?? -1]?.weight };
}

/** A getter on a later argument may have taken the memory of an earlier one away. */
function checkWhole(op: Op, { data, shape }: Tensor): void {
  if (lengthOf(data) === sizeOf(shape)) return;
  const message = `${op.name}: the memory of [${shape.join(', ')}] went away while the arguments were read`;
  throw new UhopError('E_DETACHED', message, { shape });
}

/** Throws `E_DTYPE` unless an operand has the call's type. */
export function sameType(op: Op, dtype: DType, other: DType, name: string): void {
  if (other === dtype) return;
  const message = `${op.name}: ${name} is ${other}, but the call is ${dtype}; convert one of them`;
  throw new UhopError('E_DTYPE', message, { expected: dtype, got: other });
}

function checkOut(op: Op, { shape, dtype }: Tensor, call: Call): void {
  sameType(op, call.dtype, dtype, 'out');
  const { outShape } = call;
  if (shape.length === outShape.length && shape.every((extent, axis) => extent === outShape[axis])) return;
  const message = `${op.name}: out is [${shape.join(', ')}], the result is [${outShape.join(', ')}]`;
  throw new UhopError('E_SHAPE', message, { expected: outShape, got: shape });
}
