/** Single-op ONNX models built in memory: the few protobuf messages of onnx.proto3 that they need. */
import type { Case } from './cases.ts';

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

const integer = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)]);
const block = (field: number, ...bytes: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(bytes);
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};
const text = (field: number, value: string): Buffer => block(field, Buffer.from(value));

const FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;

function valueInfo(name: string, shape: readonly number[]): Buffer {
  const dims = shape.map((extent) => block(1, integer(1, extent)));
  return Buffer.concat([text(1, name), block(2, block(1, integer(1, FLOAT), block(2, ...dims)))]);
}

function attribute(name: string, value: number | readonly number[]): Buffer {
  if (typeof value === 'number') return Buffer.concat([text(1, name), integer(3, value), integer(20, ATTRIBUTE_INT)]);
  return Buffer.concat([text(1, name), ...value.map((one) => integer(8, one)), integer(20, ATTRIBUTE_INTS)]);
}

function constant(name: string, shape: readonly number[], data: Float32Array): Buffer {
  const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return Buffer.concat([...shape.map((extent) => integer(1, extent)), integer(2, FLOAT), text(8, name), block(9, raw)]);
}

export interface Node {
  readonly op: 'MatMul' | 'FusedMatMul' | 'Conv' | 'Relu';
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly output: readonly number[];
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>;
  /** Inputs that are part of the model. */
  readonly constants?: Readonly<Record<string, Float32Array>>;
}

/** The operator set that has the product of transposed matrices. */
const CONTRIBUTED = 'com.microsoft';

/** A model of opset 17 whose graph is this one f32 node with the result `Y`. */
export function singleOpModel({ op, inputs, output, attributes = {}, constants = {} }: Node): Uint8Array {
  const names = Object.keys(inputs);
  const contributed = op === 'FusedMatMul';
  const node = [
    ...names.map((name) => text(1, name)),
    text(2, 'Y'),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) => block(5, attribute(name, value))),
    ...(contributed ? [text(7, CONTRIBUTED)] : []),
  ];
  const graph = [
    block(1, ...node),
    text(2, op),
    ...Object.entries(constants).map(([name, data]) => block(5, constant(name, inputs[name]!, data))),
    ...names.filter((name) => !constants[name]).map((name) => block(11, valueInfo(name, inputs[name]!))),
    block(12, valueInfo('Y', output)),
  ];
  const sets = [block(8, integer(2, 17)), ...(contributed ? [block(8, text(1, CONTRIBUTED), integer(2, 1))] : [])];
  return Buffer.concat([integer(1, 8), block(7, ...graph), ...sets]);
}

/** The node of a case; null where ONNX has none. */
export function nodeOf({ call, shapes }: Case): Node | null {
  const output = call.outShape;
  if (call.op === 'relu') return { op: 'Relu', inputs: { X: shapes[0]! }, output };
  if (call.op === 'matmul') {
    const inputs = { A: shapes[0]!, B: shapes[1]! };
    if (!call.transposeA && !call.transposeB) return { op: 'MatMul', inputs, output };
    const attributes = { transA: Number(call.transposeA), transB: Number(call.transposeB) };
    return { op: 'FusedMatMul', inputs, output, attributes };
  }
  if (call.layout === 'nhwc') return null;
  const { padTop, padLeft, padBottom, padRight, strideH, strideW, groups } = call;
  const attributes = { pads: [padTop, padLeft, padBottom, padRight], strides: [strideH, strideW], group: groups };
  return { op: 'Conv', inputs: { X: shapes[0]!, W: shapes[1]! }, output, attributes };
}
