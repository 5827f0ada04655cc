import type { Operands, ReluCall } from '../contract.ts';
import { numbers, positive, writing } from './elements.ts';

export function relu(call: ReluCall, operands: Operands): void {
  const x = numbers(operands.inputs[0]!, call.dtype);
  writing(operands, call.dtype, (out) => {
    for (let i = 0; i < call.length; i++) out[i] = positive(x[i]!);
  });
}
