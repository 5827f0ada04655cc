/**
 * What a typed array is, whatever realm it is of: a subclass or a property of its own may claim another length or buffer,
 * and memory safety hangs on both.
 */
import { types } from 'node:util';

const prototype = Object.getPrototypeOf(Uint8Array.prototype) as object;

/** Reads a property of every typed array past anything that hides it. */
function getter<T>(name: PropertyKey): (view: unknown) => T {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name)!;
  return (view) => get!.call(view) as T;
}

/** `'Float32Array'` and the like; undefined when it is no typed array. */
export const typedArrayKind: (value: unknown) => string | undefined = getter(Symbol.toStringTag);

/** Elements; 0 when the memory is gone. */
export const lengthOf: (view: ArrayBufferView) => number = getter('length');
export const byteLengthOf: (view: ArrayBufferView) => number = getter('byteLength');
export const byteOffsetOf: (view: ArrayBufferView) => number = getter('byteOffset');
export const bufferOf: (view: ArrayBufferView) => ArrayBufferLike = getter('buffer');

/** Whether the memory under `view` is there: not transferred away, nor resized below it. */
export function isAttached(view: ArrayBufferView): boolean {
  if (lengthOf(view) > 0) return true;
  try {
    // The one way to ask that every supported Node has: at() throws on a detached or out-of-bounds view.
    Uint8Array.prototype.at.call(view as Uint8Array, 0);
    return true;
  } catch {
    return false;
  }
}

/** Whether somebody may change the length of the memory under `view`. */
export function isResizable(view: ArrayBufferView): boolean {
  const buffer = bufferOf(view) as ArrayBufferLike & { readonly resizable?: boolean; readonly growable?: boolean };
  return buffer.resizable === true || buffer.growable === true;
}

/** Whether other threads may reach the memory under `view`, which then never goes away. */
export function isShared(view: ArrayBufferView): boolean {
  return types.isSharedArrayBuffer(bufferOf(view));
}
