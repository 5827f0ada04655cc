/** Single-op ONNX models built in memory: the few protobuf messages of onnx.proto3 that they need. */

type Bytes = readonly number[];

function varint(value: number): Bytes {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

const integer = (field: number, value: number): Bytes => [...varint(field * 8), ...varint(value)];
const block = (field: number, bytes: Bytes): Bytes => [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
const text = (field: number, value: string): Bytes => block(field, [...Buffer.from(value)]);

const FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;

function valueInfo(name: string, shape: readonly number[]): Bytes {
  const dims = shape.flatMap((extent) => block(1, integer(1, extent)));
  const tensorType = [...integer(1, FLOAT), ...block(2, dims)];
  return [...text(1, name), ...block(2, block(1, tensorType))];
}

function attribute(name: string, value: number | readonly number[]): Bytes {
  if (typeof value === 'number') return [...text(1, name), ...integer(3, value), ...integer(20, ATTRIBUTE_INT)];
  return [...text(1, name), ...value.flatMap((one) => integer(8, one)), ...integer(20, ATTRIBUTE_INTS)];
}

export interface Node {
  readonly op: 'MatMul' | 'Conv' | 'Relu';
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly output: readonly number[];
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>;
}

/** A model of opset 17 whose graph is this one f32 node with the result `Y`. */
export function singleOpModel({ op, inputs, output, attributes = {} }: Node): Uint8Array {
  const names = Object.keys(inputs);
  const node = [
    ...names.flatMap((name) => text(1, name)),
    ...text(2, 'Y'),
    ...text(4, op),
    ...Object.entries(attributes).flatMap(([name, value]) => block(5, attribute(name, value))),
  ];
  const graph = [
    ...block(1, node),
    ...text(2, op),
    ...names.flatMap((name) => block(11, valueInfo(name, inputs[name]!))),
    ...block(12, valueInfo('Y', output)),
  ];
  return Uint8Array.from([...integer(1, 8), ...block(7, graph), ...block(8, integer(2, 17))]);
}
