/**
 * Nanoseconds that a convolution is expected to take on one thread, kernel by kernel: what each does to vectors, times
 * what that took on an AVX-512 and an AVX2 core at 2.8 GHz, which differ little once it is counted in vectors.
 */
import type { Conv2dCall } from '../contract.ts';

export type ConvKernel = 'conv' | 'depthwise' | 'winograd' | 'winograd4';

/** One multiply-add of a vector in the micro-kernel, and what each vector is charged besides in Winograd's blocks. */
const FMA = 0.18;
const FMA_IN_BLOCKS = 0.2;
/** Rows of C below which the micro-kernel waits for its own sums. */
const FEWEST_ROWS = 4;

/** A vector of pixels packed under one tap, by stride; from 3 on each of its elements. */
const PACKED_VECTOR = [4.2, 5.2] as const;
const PACKED_ELEMENT = 0.5;
/** Interleaved: an element packed, and a run of neighbours begun. */
const TURNED_ELEMENT = 0.27;
const RUN = 8;
const WEIGHT = 0.3;
const PRODUCT = 250;
/** Transformed filters beyond so many do not stay in a near cache. */
const NEAR = 2 ** 20;
const DISTANT = { nchw: 0.45, nhwc: 0.9 } as const;

/** Depthwise: a tap of a vector in the loops for square kernels, and in those for the rest. */
const TAP = 0.4;
const PLAIN_TAP = 3;
const ELEMENT = 0.1;

export function convNanoseconds(call: Conv2dCall, kernel: ConvKernel, lanes: number, fma: boolean): number {
  if (kernel === 'depthwise') return depthwise(call, lanes);
  const slower = fma ? 1 : 2;
  return kernel === 'conv' ? packed(call, lanes, slower) : winograd(call, kernel === 'winograd' ? 2 : 4, lanes, slower);
}

function packed(call: Conv2dCall, lanes: number, slower: number): number {
  const { batch, OH, OW, KH, KW, groups, strideW } = call;
  const [C, O, pixels] = [call.C / groups, call.O / groups, OH * OW];
  const taps = C * KH * KW;
  const weights = WEIGHT * call.O * taps;
  if (call.layout === 'nhwc') {
    const products = batch * pixels * taps * Math.ceil(O / lanes) * groups;
    const runs = batch * pixels * groups * KH * (groups === 1 && call.dilationW === 1 ? 1 : KW);
    const elements = batch * pixels * groups * taps;
    return FMA * slower * products + TURNED_ELEMENT * elements + RUN * runs + weights + PRODUCT * groups;
  }
  const items = batch * groups;
  const products = taps * Math.max(O, FEWEST_ROWS) * Math.ceil(pixels / lanes);
  const pointwise = KH === 1 && KW === 1 && strideW === 1;
  const vectors = taps * (pointwise ? pixels / lanes : OH * Math.ceil(OW / lanes));
  const each = PACKED_VECTOR[strideW - 1] ?? PACKED_ELEMENT * lanes;
  return items * (FMA * slower * products + each * vectors + PRODUCT) + weights;
}

/** Per position of the (m+2)² transformed tile. */
function winograd(call: Conv2dCall, m: number, lanes: number, slower: number): number {
  const { batch, OH, OW, groups } = call;
  const [C, O] = [call.C / groups, call.O / groups];
  const [across, down] = [Math.ceil(OW / m), batch * Math.ceil(OH / m)];
  const tiles = across * down;
  const gemm = FMA_IN_BLOCKS * slower;
  const position =
    call.layout === 'nhwc'
      ? C * (gemm * tiles + 2.6) * Math.ceil(O / lanes) +
        2 * C * (tiles / lanes) +
        7 * tiles * Math.ceil(O / lanes) +
        110
      : C * gemm * Math.max(O, FEWEST_ROWS) * Math.ceil(tiles / lanes) +
        down * Math.ceil(across / lanes) * (3 * C + 3.5 * O) +
        4.6 * C * (O / lanes) +
        20;
  const positions = (m + 2) ** 2;
  const filters = positions * C * call.O;
  return positions * groups * position + DISTANT[call.layout] * Math.max(0, filters - NEAR);
}

function depthwise(call: Conv2dCall, lanes: number): number {
  const { batch, KH, KW, OH, OW, strideH, strideW } = call;
  const vectors = call.layout === 'nhwc' ? OW * Math.ceil(call.C / lanes) : Math.ceil(OW / lanes) * call.O;
  const elements = batch * (call.C * call.H * call.W + call.O * OH * OW);
  const square = KH === KW && strideH === strideW && call.dilationH === 1 && call.dilationW === 1;
  const blocked = square && ((strideW <= 2 && (KW === 3 || KW === 5)) || (strideW === 1 && KW === 7));
  return batch * OH * vectors * KH * KW * (blocked ? TAP : PLAIN_TAP) + ELEMENT * elements;
}
