import { type DType, decodeHalf, encodeHalf, type Tensor, type TensorData, tensor } from 'uhop';

/** Numbers as elements of any type. */
export function elements(numbers: ArrayLike<number>, dtype: DType = 'f32'): TensorData {
  if (dtype === 'f32') return Float32Array.from(numbers);
  return dtype === 'f64' ? Float64Array.from(numbers) : encodeHalf(numbers, dtype);
}

export function made(numbers: ArrayLike<number>, shape: readonly number[], dtype: DType = 'f32'): Tensor {
  return tensor(elements(numbers, dtype), shape, dtype);
}

/** Elements of any type as floats that hold them exactly. */
export function floatsOf(data: TensorData, dtype: DType): Float32Array | Float64Array {
  return dtype === 'f16' || dtype === 'bf16' ? decodeHalf(data as Uint16Array, dtype) : (data as Float32Array);
}

/** The elements of a tensor of any type as numbers. */
export function numbersOf({ data, dtype }: Tensor): number[] {
  return Array.from(floatsOf(data, dtype));
}

/** 1, 2, 3, … */
export function counting(count: number, from = 1): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

export function filled(count: number, value: number): number[] {
  return Array.from({ length: count }, () => value);
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1);
}
