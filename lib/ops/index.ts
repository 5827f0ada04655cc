import { type Call, UhopError } from '../../backends/contract.ts';
import { nearest, show } from './arguments.ts';
import { conv2d } from './conv2d.ts';
import type { Op } from './describe.ts';
import { matmul } from './matmul.ts';
import { relu } from './relu.ts';

export const OPS: Readonly<Record<Call['op'], Op>> = { matmul, conv2d, relu };

/** The op of that name, or `E_ARGUMENT`. */
export function opNamed(name: unknown): Op {
  const names = Object.keys(OPS);
  if (typeof name === 'string' && names.includes(name)) return OPS[name as Call['op']];
  const meant = typeof name === 'string' ? nearest(name, names) : undefined;
  const advice = meant ? `did you mean '${meant}'?` : `expected ${names.join(', ')}`;
  throw new UhopError('E_ARGUMENT', `there is no op ${show(name)}: ${advice}`, { names });
}
