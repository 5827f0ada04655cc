import { InvalidArgumentError } from 'commander';

/** A whole number of at least 1. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('a whole number of at least 1 is needed.');
  }
  return value;
}

/** `2` → 2; `2,3` → [2, 3]. */
export function numbers(text: string): number | readonly number[] {
  const values = text.split(',').map((part) => (part === '' ? Number.NaN : Number(part)));
  if (!values.every((value) => Number.isSafeInteger(value) && value >= 0)) {
    throw new InvalidArgumentError(`'${text}' is no whole number, and no list of them such as 2,2.`);
  }
  return values.length === 1 ? (values[0] ?? 0) : values;
}

/** `1024x512` → [1024, 512]. */
export function shape(text: string): readonly number[] {
  const extents = text.split(/[x×]/i).map((part) => (part === '' ? Number.NaN : Number(part)));
  if (!extents.every((extent) => Number.isSafeInteger(extent) && extent >= 0)) {
    throw new InvalidArgumentError(`'${text}' is not a shape such as 1024x512.`);
  }
  return extents;
}

/** Shapes one after the other. */
export function shapes(text: string, before: readonly (readonly number[])[] = []): readonly (readonly number[])[] {
  return [...before, shape(text)];
}

/** `matmul,relu` → ['matmul', 'relu'], each one of `allowed`. */
export function listOf<T extends string>(allowed: readonly T[]): (text: string) => readonly T[] {
  return (text) => {
    const words = text.split(',').map((word) => word.trim());
    const stranger = words.find((word) => !(allowed as readonly string[]).includes(word));
    if (stranger !== undefined) {
      throw new InvalidArgumentError(`'${stranger}' is not one of ${allowed.join(', ')}.`);
    }
    return words as T[];
  };
}
