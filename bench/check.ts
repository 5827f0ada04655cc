/** What is timed computes the same: every contender's numbers are held against ours before the first turn. */
import { isWithin, tolerance } from '../lib/ops/tolerance.ts';
import { depth } from '../lib/ops/cost.ts';
import { type Case, sizeOf } from './cases.ts';
import type { Contender } from './contenders/contender.ts';

/** So many numbers of a result are looked at, evenly spread over it. */
const LOOKED_AT = 4001;

/** Operands are below a half, so that no sum of products has more to it than this. */
const scaleOf = ({ call }: Case): number => depth(call) / 4;

/** Undefined when all is well, else the first number that differs. */
export function difference(one: Case, ours: ArrayLike<number>, theirs: ArrayLike<number>): string | undefined {
  if (theirs.length !== ours.length) return `${theirs.length} numbers instead of ${ours.length}`;
  const limit = tolerance(one.call);
  for (let at = 0; at < ours.length; at++) {
    const [mine, other] = [ours[at]!, theirs[at]!];
    const close = one.call.op === 'relu' ? mine === other : isWithin(limit, other, mine, scaleOf(one));
    if (Number.isNaN(mine) || !close) return `number ${at} of those looked at is ${other}, ours ${mine}`;
  }
  return undefined;
}

/** @throws Error where a contender computes something else. */
export async function check(one: Case, contenders: readonly Contender[]): Promise<void> {
  const stride = Math.max(1, Math.floor(sizeOf(one.call.outShape) / LOOKED_AT));
  let ours: ArrayLike<number> | undefined;
  for (const contender of contenders) {
    if (contender.role === 'ceiling') continue;
    const numbers = await contender.sample(stride);
    if (!numbers) throw new Error(`${one.label}: ${contender.name} shows no result`);
    ours ??= numbers;
    const found = difference(one, ours, numbers);
    if (found) throw new Error(`${one.label}: ${contender.name} computes something else: ${found}`);
  }
}
