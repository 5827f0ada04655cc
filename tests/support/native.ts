/** The addon as it is built, for what no public function reaches: single kernels, threads, misuse. */
import type { Conv2dCall, DType, MatmulCall, ReluCall } from '../../backends/contract.ts';

type Native = typeof import('../../backends/native.ts');
type ShapeModule = typeof import('../../backends/cpu/shape.ts');
type LimitsModule = typeof import('../../backends/limits.ts');

const built = (path: string): Promise<unknown> =>
  import(new URL(`../../dist/backends/${path}`, import.meta.url).href) as Promise<unknown>;

export const loadNative: Native['loadNative'] = ((await built('native.js')) as Native).loadNative;
export const shapeNumbers: ShapeModule['shapeNumbers'] = ((await built('cpu/shape.js')) as ShapeModule).shapeNumbers;
export const limits: LimitsModule['limits'] = ((await built('limits.js')) as LimitsModule).limits;
export function addon(): NonNullable<ReturnType<typeof loadNative>['addon']> {
  const { addon: loaded, tried } = loadNative();
  if (!loaded) throw new Error(`the addon is not built: ${JSON.stringify(tried)}`);
  return loaded;
}

export type Floats = Float32Array | Float64Array;

export function floats(dtype: DType, length: number): Floats {
  return dtype === 'f64' ? new Float64Array(length) : new Float32Array(length);
}

export function matmulCall(M: number, N: number, K: number, more: Partial<MatmulCall> = {}): MatmulCall {
  return {
    op: 'matmul',
    dtype: 'f32',
    precision: 'strict',
    ...{ M, N, K },
    transposeA: false,
    transposeB: false,
    batch: [],
    batchStridesA: [],
    batchStridesB: [],
    bias: 'none',
    activation: 'none',
    outShape: [...(more.batch ?? []), M, N],
    ...more,
  };
}

type Conv2dExtents = Pick<Conv2dCall, 'C' | 'H' | 'W' | 'O' | 'KH' | 'KW'>;

export function conv2dCall(extents: Conv2dExtents, more: Partial<Conv2dCall> = {}): Conv2dCall {
  const base = {
    ...{ batch: 1, strideH: 1, strideW: 1, dilationH: 1, dilationW: 1, groups: 1 },
    ...{ padTop: 0, padLeft: 0, padBottom: 0, padRight: 0 },
    ...extents,
    ...more,
  };
  const OH =
    Math.floor((base.H + base.padTop + base.padBottom - (base.KH - 1) * base.dilationH - 1) / base.strideH) + 1;
  const OW =
    Math.floor((base.W + base.padLeft + base.padRight - (base.KW - 1) * base.dilationW - 1) / base.strideW) + 1;
  const layout = more.layout ?? 'nchw';
  const outShape = layout === 'nchw' ? [base.batch, base.O, OH, OW] : [base.batch, OH, OW, base.O];
  const numbers = { dtype: 'f32', precision: 'strict', bias: false, activation: 'none' } as const;
  return { op: 'conv2d', ...numbers, layout, ...base, OH, OW, outShape };
}

export function reluCall(length: number, dtype: DType = 'f32'): ReluCall {
  return { op: 'relu', dtype, precision: 'strict', length, outShape: [length] };
}
