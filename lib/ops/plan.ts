import { type Call, type DType, UhopError } from '../../backends/contract.ts';
import { asOperand, checkDType, type PrepackedTensor, type TensorLike } from '../tensor.ts';
import { checkOptionNames, type Shape } from './arguments.ts';
import { sameType } from './bind.ts';
import type { Conv2dAttributes } from './conv2d.ts';
import { flops, traffic } from './cost.ts';
import type { Attributes } from './describe.ts';
import { opNamed } from './index.ts';
import type { MatmulAttributes } from './matmul.ts';
import { byteLength, checkShape } from './sizes.ts';

/** An operand of a call that is only looked at: its shape, or a tensor that has one. */
export type ShapeOrTensor = Shape | TensorLike | PrepackedTensor;

/** The options that describe a call, of whichever op; `bias` may be a shape. */
export interface DescribeOptions extends Omit<MatmulAttributes, 'bias'>, Omit<Conv2dAttributes, 'bias'> {
  /** Element type of operands given as shapes. Default `'f32'`. */
  readonly dtype?: DType | undefined;
  readonly bias?: ShapeOrTensor | undefined;
}

/** What a call would take, without allocating or touching anything. */
export interface Plan {
  readonly op: Call['op'];
  readonly call: Call;
  readonly outShape: Shape;
  readonly dtype: DType;
  /** Bytes of the result. */
  readonly byteLength: number;
  /** Floating-point operations. */
  readonly flops: number;
  /** Bytes read and written at the least. */
  readonly traffic: number;
}

/**
 * Plans an op from shapes or tensors, e.g. `plan('matmul', [[46341, 1], [1, 46341]])`.
 *
 * @throws UhopError as the op itself would for such arguments; `E_LIMIT` when the result's byte length is not an exact
 * integer of JavaScript.
 */
export function plan(op: Call['op'], inputs: readonly ShapeOrTensor[], options: DescribeOptions = {}): Plan {
  const call = describeCall('plan', op, inputs, options);
  const { outShape, dtype } = call;
  return {
    op: call.op,
    call,
    outShape,
    dtype,
    byteLength: byteLength(outShape, dtype),
    flops: flops(call),
    traffic: traffic(call),
  };
}

/** The call that an op, operands and options describe; `extra` names options that the caller takes itself. */
export function describeCall(
  caller: string,
  name: unknown,
  inputs: unknown,
  options: DescribeOptions,
  extra: readonly string[] = [],
): Call {
  const op = opNamed(name);
  checkOptionNames(`${caller} ${op.name}`, options, [...op.attributes, 'dtype', ...extra]);
  if (!Array.isArray(inputs) || inputs.length !== op.operands.length) {
    const expected = `an array of ${op.operands.length}: ${op.operands.join(', ')}`;
    throw new UhopError('E_ARGUMENT', `${caller} ${op.name}: inputs must be ${expected}, each a shape or a tensor`);
  }
  const names = [...op.operands, 'bias'];
  const given = options.bias === undefined ? inputs : [...inputs, options.bias];
  const operands = given.map((operand, index) => outline(operand, `${op.name}: ${names[index]}`));
  const dtype = checkDType(options.dtype, caller) ?? operands.find((operand) => operand.dtype)?.dtype ?? 'f32';
  for (const [index, operand] of operands.entries()) {
    sameType(op, dtype, operand.dtype ?? dtype, names[index]!);
    byteLength(operand.shape, dtype);
  }
  const shapes = operands.map(({ shape }) => shape);
  const attributes = { ...options, bias: shapes[op.operands.length] } as Attributes;
  return op.describe(shapes.slice(0, op.operands.length), dtype, attributes).call;
}

/** An operand's shape, and its dtype where it is a tensor. */
function outline(operand: unknown, what: string): { readonly shape: Shape; readonly dtype?: DType } {
  return Array.isArray(operand) ? { shape: checkShape(operand, what) } : asOperand(operand, what).tensor;
}
