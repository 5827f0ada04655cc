/** The last calls that were described: programs repeat their shapes, and a small product is done sooner than described. */
import type { DType } from '../../backends/contract.ts';
import type { Shape } from './arguments.ts';
import type { Attributes, Described, Op } from './describe.ts';

/** Descriptions kept of each op. */
const KEPT = 8;

interface Recent {
  readonly dtype: DType;
  readonly shapes: readonly Shape[];
  readonly bias: Shape | undefined;
  /** Names and values of the attributes, in the order in which they were given. */
  readonly said: readonly unknown[];
  readonly described: Described;
}

const recent = new Map<Op, readonly Recent[]>();

/**
 * `op.describe`, or what it said of the same arguments a short while ago. `options` may hold more than attributes; none of
 * the shapes may change any more.
 */
export function describe(
  op: Op,
  shapes: readonly Shape[],
  dtype: DType,
  options: Readonly<Record<string, unknown>>,
  bias: Shape | undefined,
): Described {
  const said: unknown[] = [];
  for (const name of Object.keys(options)) {
    if (name !== 'bias' && op.attributes.includes(name)) said.push(name, options[name]);
  }
  const known = recent.get(op) ?? [];
  for (const one of known) {
    if (one.dtype === dtype && isSame(one.said, said) && isSame(one.bias, bias) && areSame(one.shapes, shapes)) {
      return one.described;
    }
  }
  const described = op.describe(shapes, dtype, { ...options, bias } as Attributes);
  // An array may hold something else by the next time.
  if (said.every((value) => typeof value !== 'object')) {
    recent.set(op, [{ dtype, shapes, bias, said, described }, ...known.slice(0, KEPT - 1)]);
  }
  return described;
}

function areSame(left: readonly Shape[], right: readonly Shape[]): boolean {
  for (let i = 0; i < left.length; i++) if (!isSame(left[i], right[i])) return false;
  return true;
}

function isSame(left: readonly unknown[] | undefined, right: readonly unknown[] | undefined): boolean {
  if (left === right) return true;
  if (left?.length !== right?.length || !left || !right) return false;
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}
