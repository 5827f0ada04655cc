import { type Conv2dCall, type DType, UhopError } from '../../backends/contract.ts';
import { checkChoice, checkPair, isExtent, type Shape, show } from './arguments.ts';
import type { Attributes, Described, Op } from './describe.ts';
import { type Axis, type Padding, resolvePadding } from './padding.ts';
import { sizeOf } from './sizes.ts';

export interface Conv2dAttributes extends Attributes {
  /** Default 1; one integer or `[height, width]`. */
  readonly stride?: number | readonly number[] | undefined;
  /** Default `'valid'`. */
  readonly padding?: Padding | undefined;
  /** Default 1; one integer or `[height, width]`. */
  readonly dilation?: number | readonly number[] | undefined;
  /** Default 1; divides the input's and the output's channels. */
  readonly groups?: number | undefined;
  /** `'nchw'` (default): weights `[O, C/groups, KH, KW]`; `'nhwc'`: weights `[KH, KW, C/groups, O]`. */
  readonly layout?: 'nchw' | 'nhwc' | undefined;
}

/** ONNX `Conv` in two dimensions. Padding is zeros, multiplied like any other: under an infinite weight it gives NaN. */
export const conv2d: Op = {
  name: 'conv2d',
  operands: ['x', 'w'],
  attributes: ['stride', 'padding', 'dilation', 'groups', 'layout', 'bias', 'activation', 'precision'],
  describe: ([x, w], dtype, attributes) => describe(x!, w!, dtype, attributes),
};

function describe(x: Shape, w: Shape, dtype: DType, attributes: Conv2dAttributes): Described<Conv2dCall> {
  const layout = checkChoice(attributes.layout, ['nchw', 'nhwc'], 'conv2d: layout');
  const [strideH, strideW] = checkPair(attributes.stride ?? 1, 1, 'conv2d: stride');
  const [dilationH, dilationW] = checkPair(attributes.dilation ?? 1, 1, 'conv2d: dilation');
  const groups = attributes.groups ?? 1;
  const input = image(x, layout);
  const filter = filters(w, layout);
  checkGroups(groups, input.C, filter.O, filter.channels);
  checkBias(attributes.bias, filter.O);

  const height: Axis = { size: input.H, kernel: effective(filter.KH, dilationH), stride: strideH };
  const width: Axis = { size: input.W, kernel: effective(filter.KW, dilationW), stride: strideW };
  const pads = resolvePadding(attributes.padding ?? 'valid', height, width);
  const padded = [input.H + pads.top + pads.bottom, input.W + pads.left + pads.right] as const;
  if (height.kernel > padded[0] || width.kernel > padded[1]) {
    throw new UhopError(
      'E_SHAPE',
      `conv2d: the effective kernel ${height.kernel}x${width.kernel} (${filter.KH}x${filter.KW} with dilation ${dilationH}x${dilationW}) is larger than the padded input ${padded[0]}x${padded[1]}`,
      { effectiveKernel: [height.kernel, width.kernel], paddedInput: padded },
    );
  }
  checkReach(height, padded[0], dilationH, filter);
  checkReach(width, padded[1], dilationW, filter);
  const OH = Math.floor((padded[0] - height.kernel) / strideH) + 1;
  const OW = Math.floor((padded[1] - width.kernel) / strideW) + 1;
  const outShape = layout === 'nchw' ? [input.batch, filter.O, OH, OW] : [input.batch, OH, OW, filter.O];
  sizeOf(outShape);
  const call: Conv2dCall = {
    op: 'conv2d',
    dtype,
    precision: checkChoice(attributes.precision, ['strict', 'fast'], 'conv2d: precision'),
    layout,
    ...input,
    O: filter.O,
    KH: filter.KH,
    KW: filter.KW,
    OH,
    OW,
    strideH,
    strideW,
    dilationH,
    dilationW,
    padTop: pads.top,
    padLeft: pads.left,
    padBottom: pads.bottom,
    padRight: pads.right,
    groups,
    bias: attributes.bias !== undefined,
    activation: checkChoice(attributes.activation, ['none', 'relu'], 'conv2d: activation'),
    outShape,
  };
  return { call, order: [0, 1] };
}

/** Backends count pixels and taps in signed 64-bit numbers: this leaves room for a sum of two positions. */
const MOST_REACH = 2 ** 47;

function checkReach({ kernel, stride }: Axis, padded: number, dilation: number, { KH, KW }: Filters): void {
  const largest = Math.max(kernel, stride, padded, dilation, KH * KW);
  if (largest <= MOST_REACH) return;
  throw new UhopError(
    'E_LIMIT',
    `conv2d: padded input ${padded}, effective kernel ${kernel}, taps ${KH}x${KW}, stride ${stride} and dilation ${dilation} must each be at most 2^47`,
    { padded, kernel, taps: [KH, KW], stride, dilation },
  );
}

function effective(kernel: number, dilation: number): number {
  return (kernel - 1) * dilation + 1;
}

function image(shape: Shape, layout: 'nchw' | 'nhwc') {
  const meaning = layout === 'nchw' ? '[batch, C, H, W]' : '[batch, H, W, C]';
  const [batch, first, second, third] = fourAxes(shape, 'x', meaning, layout);
  return layout === 'nchw' ? { batch, C: first, H: second, W: third } : { batch, C: third, H: first, W: second };
}

interface Filters {
  readonly O: number;
  readonly channels: number;
  readonly KH: number;
  readonly KW: number;
}

function filters(shape: Shape, layout: 'nchw' | 'nhwc'): Filters {
  const meaning = layout === 'nchw' ? '[O, C/groups, KH, KW]' : '[KH, KW, C/groups, O]';
  const [first, second, third, fourth] = fourAxes(shape, 'w', meaning, layout);
  const filter =
    layout === 'nchw'
      ? { O: first, channels: second, KH: third, KW: fourth }
      : { KH: first, KW: second, channels: third, O: fourth };
  if (filter.KH === 0 || filter.KW === 0) {
    throw new UhopError('E_SHAPE', `conv2d: w [${shape.join(', ')}] has a kernel of ${filter.KH}x${filter.KW}`);
  }
  return filter;
}

function fourAxes(shape: Shape, name: string, meaning: string, layout: string) {
  if (shape.length === 4) return shape as readonly [number, number, number, number];
  throw new UhopError('E_SHAPE', `conv2d: ${name} is [${shape.join(', ')}], expected ${meaning} in layout '${layout}'`);
}

function checkGroups(groups: unknown, C: number, O: number, channels: number): asserts groups is number {
  if (!isExtent(groups, 1)) {
    throw new UhopError('E_SHAPE', `conv2d: groups must be an integer of at least 1, got ${show(groups)}`);
  }
  if (C % groups !== 0 || O % groups !== 0) {
    throw new UhopError(
      'E_SHAPE',
      `conv2d: groups ${groups} must divide the input's ${C} channels and the output's ${O}`,
      { groups, C, O },
    );
  }
  if (channels !== C / groups) {
    throw new UhopError(
      'E_SHAPE',
      `conv2d: w has ${channels} input channels, expected C/groups = ${C}/${groups} = ${C / groups}`,
      { groups, C, channels },
    );
  }
}

function checkBias(bias: Shape | undefined, O: number): void {
  if (bias === undefined || (bias.length === 1 && bias[0] === O)) return;
  throw new UhopError('E_SHAPE', `conv2d: bias is [${bias.join(', ')}], expected [${O}], one per output channel`);
}
