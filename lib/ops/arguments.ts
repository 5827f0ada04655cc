/** What was got, for error messages, and the checks that every op's arguments share. */
import { UhopError } from '../../backends/contract.ts';
import { typedArrayKind } from './typed-arrays.ts';

export type Shape = readonly number[];

/** How an error message names a value. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 80 ? `'${value.slice(0, 80)}…'` : `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  try {
    return Array.isArray(value) ? showArray(value) : (typedArrayKind(value) ?? className(value));
  } catch {
    return 'an object that cannot be looked at';
  }
}

function showArray(value: readonly unknown[]): string {
  if (value.length > 8) return `an array of length ${value.length}`;
  const elements = Array.from(value, (one) => (Array.isArray(one) ? 'an array' : show(one)));
  return `[${elements.join(', ')}]`;
}

function className(value: object): string {
  const name = Object.prototype.toString.call(value).slice(8, -1);
  return name === 'Object' ? 'an object' : `an object of class ${name}`;
}

/** Refuses option names that `op` does not know, with the one that was probably meant. */
export function checkOptionNames(op: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new UhopError('E_ARGUMENT', `${op}: options must be an object, got ${show(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const advice = meant ? `did you mean '${meant}'?` : `it has ${known.join(', ')}`;
    throw new UhopError('E_ARGUMENT', `${op} has no option '${name}': ${advice}`, { option: name, known });
  }
}

export function checkBoolean(value: unknown, what: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw new UhopError('E_ARGUMENT', `${what} must be true or false, got ${show(value)}`);
}

/** `value` when it is one of `choices`, the first of them when it is undefined. */
export function checkChoice<const T extends string>(value: unknown, choices: readonly [T, ...T[]], what: string): T {
  if (value === undefined) return choices[0];
  const chosen = choices.find((choice) => choice === value);
  if (chosen !== undefined) return chosen;
  const list = choices.map((choice) => `'${choice}'`).join(' or ');
  throw new UhopError('E_ARGUMENT', `${what} must be ${list}, got ${show(value)}`);
}

export function isExtent(value: unknown, least = 0): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

/** A copy of an array of extents; undefined for anything else. Each element is read once: an array may be a proxy. */
export function extentsOf(value: unknown, least = 0): readonly number[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const extents: number[] = [];
  for (let axis = 0; axis < value.length; axis++) {
    const extent: unknown = value[axis];
    if (!isExtent(extent, least)) return undefined;
    extents.push(extent);
  }
  return extents;
}

/** One integer for both axes, or `[height, width]`. */
export function checkPair(value: unknown, least: number, what: string): readonly [number, number] {
  if (isExtent(value, least)) return [value, value];
  const extents = extentsOf(value, least);
  if (extents?.length === 2) return [extents[0]!, extents[1]!];
  throw new UhopError(
    'E_ARGUMENT',
    `${what} must be an integer of at least ${least} or [height, width] of such, got ${show(value)}`,
  );
}

/** The known name within a third of `name`'s length of edits, case and underscores ignored. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[_-]/g, '');
  const ranked = known
    .map((one) => ({ one, distance: edits(plain(name), plain(one)) }))
    .toSorted((left, right) => left.distance - right.distance);
  const best = ranked[0];
  return best && best.distance <= name.length / 3 ? best.one : undefined;
}

/** Levenshtein distance. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
