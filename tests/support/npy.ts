/** `.npy` files as tests write and read them, independent of the package's own code. */
import { readFileSync, writeFileSync } from 'node:fs';

export type NpyData = Float32Array | Float64Array | Uint16Array;

const DESCR = { Float32Array: '<f4', Float64Array: '<f8', Uint16Array: '<f2' } as const;

export function descrOf(data: NpyData): string {
  return DESCR[data.constructor.name as keyof typeof DESCR];
}

/** A whole file; `version` 2 and 3 have a 32-bit header length. */
export function npyBytes(dict: string, data: Uint8Array, version = 1): Buffer {
  const text = Buffer.from(`${dict}\n`, 'latin1');
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(text.length);
  else length.writeUInt32LE(text.length);
  return Buffer.concat([Buffer.from('\x93NUMPY', 'latin1'), Buffer.from([version, 0]), length, text, data]);
}

export function dictOf(descr: string, shape: readonly number[], fortran = false): string {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  return `{'descr': '${descr}', 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': ${tuple}, }`;
}

export function bytesOf(data: NpyData): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

export function writeNpy(path: string, data: NpyData, shape: readonly number[]): void {
  writeFileSync(path, npyBytes(dictOf(descrOf(data), shape), bytesOf(data)));
}

/** The header's dict as text, and the bytes behind it. */
export function readNpy(path: string): { readonly dict: string; readonly data: Buffer } {
  const file = readFileSync(path);
  const end = 10 + file.readUInt16LE(8);
  return { dict: file.toString('latin1', 10, end).trim(), data: file.subarray(end) };
}
