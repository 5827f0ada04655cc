import type { DType, Tensor, Weight } from '../backends/contract.ts';
import type { Shape } from './ops/arguments.ts';
import { asTensor, copyOf, type TensorLike } from './tensor.ts';

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
