/** Convolution from its definition, one output element at a time, in f64. */
import type { Conv2dCall } from '../../backends/contract.ts';
import type { Floats } from './native.ts';

export function convolution(call: Conv2dCall, x: Floats, w: Floats, bias?: Floats): Float64Array {
  const { batch, C, H, W, O, KH, KW, OH, OW, groups } = call;
  const planar = call.layout === 'nchw';
  const share = C / groups;
  const pixel = (n: number, c: number, h: number, v: number): number => {
    if (h < 0 || h >= H || v < 0 || v >= W) return 0;
    return x[planar ? ((n * C + c) * H + h) * W + v : ((n * H + h) * W + v) * C + c]!;
  };
  const weight = (o: number, c: number, i: number, j: number): number =>
    w[planar ? ((o * share + c) * KH + i) * KW + j : ((i * KW + j) * share + c) * O + o]!;
  const out = new Float64Array(batch * O * OH * OW);
  for (let n = 0; n < batch; n++) {
    for (let o = 0; o < O; o++) {
      const first = Math.floor((o * groups) / O) * share;
      for (let y = 0; y < OH; y++) {
        for (let z = 0; z < OW; z++) {
          let sum = bias ? bias[o]! : 0;
          for (let c = 0; c < share; c++) {
            for (let i = 0; i < KH; i++) {
              for (let j = 0; j < KW; j++) {
                const h = y * call.strideH - call.padTop + i * call.dilationH;
                const v = z * call.strideW - call.padLeft + j * call.dilationW;
                sum += pixel(n, first + c, h, v) * weight(o, c, i, j);
              }
            }
          }
          const at = planar ? ((n * O + o) * OH + y) * OW + z : ((n * OH + y) * OW + z) * O + o;
          out[at] = call.activation === 'relu' && sum <= 0 ? 0 : sum;
        }
      }
    }
  }
  return out;
}
