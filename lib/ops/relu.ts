import { checkChoice } from './arguments.ts';
import type { Op } from './describe.ts';
import { sizeOf } from './sizes.ts';

/** x > 0 ? x : (x is NaN ? NaN : 0), so that -0 becomes 0. */
export const relu: Op = {
  name: 'relu',
  operands: ['x'],
  attributes: ['precision'],
  describe: ([x], dtype, attributes) => ({
    call: {
      op: 'relu',
      dtype,
      precision: checkChoice(attributes.precision, ['strict', 'fast'], 'relu: precision'),
      length: sizeOf(x!),
      outShape: x!,
    },
    order: [0],
  }),
};
