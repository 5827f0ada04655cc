import type { Conv2dCall, Operands } from '../contract.ts';
import { type Numbers, numbers, positive, writing } from './elements.ts';

/** Elements between neighbours along batch, channel, row and column, and the same for the weights' O, C, KH, KW. */
function strides(call: Conv2dCall) {
  const { C, H, W, O, KH, KW, OH, OW } = call;
  const channels = C / call.groups;
  return call.layout === 'nchw'
    ? {
        x: { n: C * H * W, c: H * W, h: W, w: 1 },
        w: { o: channels * KH * KW, c: KH * KW, h: KW, w: 1 },
        y: { n: O * OH * OW, c: OH * OW, h: OW, w: 1 },
      }
    : {
        x: { n: H * W * C, c: 1, h: W * C, w: C },
        w: { o: 1, c: O, h: KW * channels * O, w: channels * O },
        y: { n: OH * OW * O, c: 1, h: OW * O, w: O },
      };
}

/**
 * out[n,o,y,x] = act(Σ_{c,i,j} x[n, c, y·stride - pad + i·dilation, …] · w[o,c,i,j] + bias[o]) in one f64 sum, c over the
 * channels of o's group, x zero outside the image.
 */
export function conv2d(call: Conv2dCall, operands: Operands): void {
  const x = numbers(operands.inputs[0]!, call.dtype);
  const w = numbers(operands.inputs[1]!, call.dtype);
  const bias = operands.bias && numbers(operands.bias, call.dtype);
  writing(operands, call.dtype, (out) => fill(call, x, w, bias, out));
}

function fill(call: Conv2dCall, x: Numbers, w: Numbers, bias: Numbers | undefined, out: Numbers): void {
  const { batch, O, OH, OW } = call;
  const step = strides(call);
  const channels = call.C / call.groups;
  const filters = O / call.groups;
  for (let n = 0; n < batch; n++) {
    for (let o = 0; o < O; o++) {
      const fromX = n * step.x.n + Math.floor(o / filters) * channels * step.x.c;
      const start = bias ? bias[o]! : 0;
      for (let oh = 0; oh < OH; oh++) {
        for (let ow = 0; ow < OW; ow++) {
          const sum = window(call, step, x, w, fromX, o * step.w.o, oh, ow) + start;
          out[n * step.y.n + o * step.y.c + oh * step.y.h + ow * step.y.w] =
            call.activation === 'relu' ? positive(sum) : sum;
        }
      }
    }
  }
}

/** The sum of one output element. */
function window(
  call: Conv2dCall,
  step: ReturnType<typeof strides>,
  x: Numbers,
  w: Numbers,
  fromX: number,
  fromW: number,
  oh: number,
  ow: number,
): number {
  const { H, W, KH, KW, dilationH, dilationW } = call;
  const top = oh * call.strideH - call.padTop;
  const left = ow * call.strideW - call.padLeft;
  const channels = call.C / call.groups;
  let sum = 0;
  for (let c = 0; c < channels; c++) {
    for (let i = 0; i < KH; i++) {
      const h = top + i * dilationH;
      const rowX = fromX + c * step.x.c + h * step.x.h;
      const rowW = fromW + c * step.w.c + i * step.w.h;
      for (let j = 0; j < KW; j++) {
        const at = left + j * dilationW;
        const inside = h >= 0 && h < H && at >= 0 && at < W;
        sum += (inside ? x[rowX + at * step.x.w]! : 0) * w[rowW + j * step.w.w]!;
      }
    }
  }
  return sum;
}
