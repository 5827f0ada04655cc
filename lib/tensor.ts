import {
  BYTES_PER_ELEMENT,
  type DType,
  type Tensor,
  type TensorData,
  UhopError,
  type Weight,
} from '../backends/contract.ts';
import { type Shape, show } from './ops/arguments.ts';
import { byteLength, checkShape, sizeOf } from './ops/sizes.ts';
import {
  bufferOf,
  byteLengthOf,
  byteOffsetOf,
  isAttached,
  isResizable,
  lengthOf,
  typedArrayKind,
} from './ops/typed-arrays.ts';

/** `Float16Array`, where the runtime has one. */
interface Half extends ArrayBufferView {
  readonly length: number;
  readonly [Symbol.toStringTag]: 'Float16Array';
}

/** What a tensor's elements may come in. */
export type DataInput = TensorData | Half | readonly number[];

/** Anything an op takes as a tensor: `dtype` may be left out where the array kind says it. */
export interface TensorLike {
  readonly data: TensorData | Half;
  readonly shape: readonly number[];
  readonly dtype?: DType | undefined;
}

const DTYPES = Object.keys(BYTES_PER_ELEMENT) as readonly DType[];

/**
 * A dense, row-major tensor over `data`, which is not copied unless it is an array of numbers.
 *
 * `Float32Array` is f32 and `Float64Array` f64; a `Uint16Array` holds the bits of `'f16'` or `'bf16'` and needs that
 * dtype said; a `Float16Array` is f16 where the runtime has one. An array of numbers becomes f32 unless `dtype` is
 * `'f64'`. Views at any offset and views of a `SharedArrayBuffer` are ordinary.
 *
 * @throws UhopError `E_DTYPE` for any other kind of array or a dtype that does not fit it, `E_SHAPE` when the shape
 * does not hold exactly `data.length` elements, `E_DETACHED`, `E_LIMIT` when the sizes overflow or memory is short.
 */
export function tensor(data: DataInput, shape: readonly number[], dtype?: DType): Tensor {
  const extents = checkShape(shape, 'tensor');
  return view(Array.isArray(data) ? fromNumbers(data, dtype) : data, extents, dtype, 'tensor: data');
}

/** A user's `{ data, shape, dtype? }` as a checked tensor; `what` names it in errors. */
export function asTensor(value: unknown, what: string): Tensor {
  if (typeof value !== 'object' || value === null || !('data' in value && 'shape' in value)) {
    throw new UhopError('E_ARGUMENT', `${what} must be a tensor or { data, shape, dtype? }, got ${show(value)}`);
  }
  const dtype = 'dtype' in value ? value.dtype : undefined;
  return view(value.data, checkShape(value.shape, what), dtype, what);
}

/**
 * A tensor that never changes, for weights that many calls use: see `prepack`. It has no `data`; it can be the second
 * operand of any number of calls, or the first, which gains nothing.
 */
export class PrepackedTensor {
  readonly shape: Shape;
  readonly dtype: DType;
  readonly #weight: Weight;

  /** Not for users: `prepack` makes them. */
  constructor({ data, shape, dtype }: Tensor) {
    this.shape = shape;
    this.dtype = dtype;
    this.#weight = { data, forms: new Map() };
  }

  /** The private data of a prepacked tensor; undefined for anything else. */
  static weightOf(value: unknown): Weight | undefined {
    return typeof value === 'object' && value !== null && #weight in value ? value.#weight : undefined;
  }
}

/**
 * Takes a copy of `w`, `b` of matmul or `w` of conv2d, that calls read as it is now, whatever happens to the original.
 * Each path keeps it in the form that its kernels read fastest, made on first use and kept as long as the prepacked
 * tensor: calls neither pack nor copy it again. The results have the same bits as without. Costs the memory of the copy and
 * of one form for each path that is used; 16-bit types and grouped weights keep to the copy.
 *
 * @throws UhopError as `tensor` does.
 */
export function prepack(w: TensorLike): PrepackedTensor {
  const { data, shape, dtype } = asTensor(w, 'prepack: w');
  return new PrepackedTensor({ data: copyOf(data, dtype), shape: [...shape], dtype });
}

/** An operand as a user may give it: a tensor, or a prepacked one. */
export function asOperand(value: unknown, what: string): { readonly tensor: Tensor; readonly weight?: Weight } {
  const weight = PrepackedTensor.weightOf(value);
  if (!weight) return { tensor: asTensor(value, what) };
  const { shape, dtype } = value as PrepackedTensor;
  return { tensor: { data: weight.data, shape, dtype }, weight };
}

/** A user's `dtype`, or undefined when none was given. */
export function checkDType(dtype: unknown, what: string): DType | undefined {
  if (dtype === undefined || DTYPES.includes(dtype as DType)) return dtype as DType | undefined;
  throw new UhopError('E_DTYPE', `${what}: dtype must be one of ${DTYPES.join(', ')}, got ${show(dtype)}`);
}

/** A new tensor of zeros. */
export function allocate(shape: Shape, dtype: DType): Tensor {
  const bytes = byteLength(shape, dtype);
  const size = sizeOf(shape);
  try {
    return { data: new (arrayFor(dtype))(size), shape, dtype };
  } catch (cause) {
    throw unallocatable(`a tensor of [${shape.join(', ')}] ${dtype}`, bytes, cause);
  }
}

/** The same elements in memory of their own, which is never shared nor resizable. */
export function copyOf(data: TensorData, dtype: DType): TensorData {
  try {
    return new (arrayFor(dtype))(data);
  } catch (cause) {
    throw unallocatable('a copy of an input', byteLengthOf(data), cause);
  }
}

function checkAttached(data: TensorData | Half, what: string): void {
  if (isAttached(data)) return;
  const message = `${what} is detached: its buffer was transferred away or resized below the view`;
  throw new UhopError('E_DETACHED', message);
}

function view(data: unknown, shape: Shape, dtype: unknown, what: string): Tensor {
  const elements = elementsOf(data, dtype, what);
  checkAttached(elements.data, what);
  const size = sizeOf(shape);
  byteLength(shape, elements.dtype);
  const length = lengthOf(elements.data);
  if (length === size) return { data: elements.data, shape, dtype: elements.dtype };
  if (length < size && isResizable(elements.data)) {
    const message = `${what} has ${length} elements left of ${size}: its buffer was resized below shape [${shape.join(', ')}]`;
    throw new UhopError('E_DETACHED', message, { length, shape });
  }
  throw new UhopError('E_SHAPE', `${what} has ${length} elements, but shape [${shape.join(', ')}] holds ${size}`, {
    length,
    shape,
  });
}

/** The element types that each kind of array holds; the first is meant when none is said. */
const HOLDS: Readonly<Record<string, readonly DType[]>> = {
  Float32Array: ['f32'],
  Float64Array: ['f64'],
  Float16Array: ['f16'],
  Uint16Array: ['f16', 'bf16'],
};

function elementsOf(data: unknown, dtype: unknown, what: string): { readonly data: TensorData; readonly dtype: DType } {
  const said = checkDType(dtype, what);
  const kind = typedArrayKind(data);
  const holds = kind === undefined ? undefined : HOLDS[kind];
  if (!holds) {
    const expected = 'a Float32Array, Float64Array, Uint16Array (bits of f16 or bf16) or Float16Array';
    throw new UhopError('E_DTYPE', `${what} must be ${expected}, got ${show(data)}`, { kind });
  }
  if (said === undefined && holds.length > 1) {
    throw new UhopError('E_DTYPE', `${what} is a ${kind}: say whether its bits are dtype 'f16' or 'bf16'`, { kind });
  }
  const chosen = said ?? holds[0]!;
  if (!holds.includes(chosen)) {
    throw new UhopError('E_DTYPE', `${what} is a ${kind}, which does not hold ${chosen}`, { kind, dtype });
  }
  return { data: kind === 'Float16Array' ? bitsOf(data as Half, what) : (data as TensorData), dtype: chosen };
}

/** The same memory as bits; a detached one is caught first, since it has no offset any more. */
function bitsOf(data: Half, what: string): Uint16Array {
  checkAttached(data, what);
  return new Uint16Array(bufferOf(data) as ArrayBuffer, byteOffsetOf(data), lengthOf(data));
}

function fromNumbers(values: readonly unknown[], dtype: DType | undefined): TensorData {
  if (dtype === 'f16' || dtype === 'bf16') {
    throw new UhopError('E_DTYPE', `tensor: an array of numbers becomes f32 or f64; use encodeHalf() for ${dtype}`);
  }
  const wrong = values.findIndex((value) => typeof value !== 'number');
  if (wrong >= 0) {
    throw new UhopError('E_DTYPE', `tensor: data[${wrong}] must be a number, got ${show(values[wrong])}`);
  }
  const numbers = values as readonly number[];
  try {
    return dtype === 'f64' ? Float64Array.from(numbers) : Float32Array.from(numbers);
  } catch (cause) {
    throw unallocatable(`a tensor of ${numbers.length} numbers`, numbers.length * 8, cause);
  }
}

function arrayFor(dtype: DType): Float32ArrayConstructor | Float64ArrayConstructor | Uint16ArrayConstructor {
  if (dtype === 'f32') return Float32Array;
  return dtype === 'f64' ? Float64Array : Uint16Array;
}

function unallocatable(what: string, bytes: number, cause: unknown): unknown {
  if (!(cause instanceof RangeError)) return cause;
  const message = `${what} needs ${bytes} bytes, which this process cannot allocate (${cause.message})`;
  return new UhopError('E_LIMIT', message, { bytes }, cause);
}
