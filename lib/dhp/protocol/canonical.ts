import { createHash } from 'node:crypto';
import serialize from 'canonicalize';
import { DhpError } from '../errors.ts';
import type { Json } from '../types.ts';

export const MAX_CANONICAL_BYTES: number = 1024 * 1024;
export const MAX_CANONICAL_DEPTH = 64;

const LONE_SURROGATE = /\p{Surrogate}/u;
const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/;

/**
 * The RFC 8785 canonical JSON of `value`. What it cannot carry faithfully is refused with `E_CANONICAL`, naming the JSON
 * path: undefined, functions, symbols, BigInt, NaN, infinities, -0, integers beyond 2^53-1, lone surrogates, anything but
 * plain objects and dense arrays, nesting over 64, more than 1 MiB of UTF-8.
 */
export function canonical(value: unknown): string {
  new Inspection().visit(value, '$', 0);
  const text = serialize(value) as string;
  if (Buffer.byteLength(text) > MAX_CANONICAL_BYTES) throw tooLarge();
  return text;
}

/** A copy of `value` that shares nothing with it, refused like `canonical` refuses. */
export function canonicalCopy(value: unknown): Json {
  return JSON.parse(canonical(value)) as Json;
}

/** Hex SHA-256 of a text's UTF-8. */
export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

class Inspection {
  #nodes = 0;

  visit(value: unknown, path: string, depth: number): void {
    // Every node is at least one byte of output, so this also ends a walk round a cycle or through shared branches.
    this.#nodes += 1;
    if (this.#nodes > MAX_CANONICAL_BYTES) throw tooLarge();
    if (value === null || typeof value === 'boolean') return;
    if (typeof value === 'string') return checkString(value, path);
    if (typeof value === 'number') return checkNumber(value, path);
    if (typeof value !== 'object') throw refusal(path, typeof value, 'JSON has no such type');
    if (depth === MAX_CANONICAL_DEPTH) {
      throw refusal(path, 'a value nested deeper than 64', 'flatten it, or break the cycle');
    }
    if (Array.isArray(value)) this.#visitArray(value, path, depth);
    else this.#visitObject(value, path, depth);
  }

  #visitArray(value: readonly unknown[], path: string, depth: number): void {
    if (Reflect.ownKeys(value).length !== value.length + 1) {
      throw refusal(path, 'an array with holes or named properties', 'use a dense array or an object');
    }
    for (const [index, item] of value.entries()) this.visit(item, `${path}[${index}]`, depth + 1);
  }

  #visitObject(value: object, path: string, depth: number): void {
    // A plain object's prototype is the end of the chain, in whichever realm it was made.
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      const name = (prototype.constructor as { name?: string } | undefined)?.name ?? 'a class';
      throw refusal(path, `an instance of ${name}`, 'pass a plain object; binary data goes into a blob');
    }
    for (const key of Reflect.ownKeys(value)) {
      if (typeof key === 'symbol') throw refusal(path, `the key ${String(key)}`, 'keys are strings');
      checkString(key, path);
      this.visit((value as Record<string, unknown>)[key], member(path, key), depth + 1);
    }
  }
}

function checkString(value: string, path: string): void {
  if (LONE_SURROGATE.test(value)) throw refusal(path, 'a string with a lone surrogate', 'it has no UTF-8 form');
}

function checkNumber(value: number, path: string): void {
  if (!Number.isFinite(value)) throw refusal(path, String(value), 'JSON has no such number');
  if (Object.is(value, -0)) throw refusal(path, '-0', 'JSON would carry it as 0; pass 0, or put the bits into a blob');
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw refusal(path, `the integer ${value}`, 'beyond 2^53-1 a number is not exact; pass it as a string');
  }
}

function member(path: string, key: string): string {
  return PLAIN_KEY.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

function refusal(path: string, got: string, hint: string): DhpError {
  return new DhpError('E_CANONICAL', `canonical JSON cannot carry ${got} at ${path}: ${hint}`, { path });
}

function tooLarge(): DhpError {
  return new DhpError('E_CANONICAL', 'the value is over 1 MiB of canonical JSON: put the bulk of it into a blob', {
    path: '$',
    limit: MAX_CANONICAL_BYTES,
  });
}
