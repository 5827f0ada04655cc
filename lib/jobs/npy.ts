/**
 * The NumPy `.npy` format, versions 1 to 3, as far as a job can use it: little-endian f2, f4 and f8 in C order.
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
import { JobError } from './errors.ts';
import { type Literal, parseLiteral } from './literal.ts';
import type { JobDType } from './types.ts';

export interface NpyHeader {
  readonly dtype: JobDType;
  readonly shape: readonly number[];
  /** Where the data begin, and how many bytes they are. */
  readonly offset: number;
  readonly dataBytes: number;
}

export const ITEM_BYTES: Readonly<Record<JobDType, number>> = { f16: 2, f32: 4, f64: 8 };

/** More than any array of 64 axes needs; a larger header is damage or an attack, and is not read. */
export const MAX_HEADER_BYTES: number = 64 * 1024;

/** Bytes before the header text: magic, version, length (16 bit in version 1, else 32). */
export const PREAMBLE_BYTES: number = 12;

const MAGIC = Buffer.from('\x93NUMPY', 'latin1');
const DTYPES: ReadonlyMap<string, JobDType> = new Map<string, JobDType>([
  ['<f2', 'f16'],
  ['<f4', 'f32'],
  ['<f8', 'f64'],
]);
const DESCR: Readonly<Record<JobDType, string>> = { f16: '<f2', f32: '<f4', f64: '<f8' };
const MAX_AXES = 32;

/** Where the header text lies, from the first `PREAMBLE_BYTES` of a file (fewer when the file is shorter). */
export function headerSpan(preamble: Uint8Array, path: string): { readonly start: number; readonly length: number } {
  const bytes = Buffer.from(preamble.buffer, preamble.byteOffset, preamble.byteLength);
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw bad(path, `does not begin with the bytes \\x93NUMPY; expected a .npy file, as numpy.save writes it`);
  }
  if (bytes.length < PREAMBLE_BYTES) throw bad(path, `ends inside its header (${bytes.length} bytes); write it again`);
  const major = bytes.readUInt8(6);
  const minor = bytes.readUInt8(7);
  if (major < 1 || major > 3 || minor !== 0) {
    throw bad(path, `has format version ${major}.${minor}; expected 1.0, 2.0 or 3.0`);
  }
  const start = major === 1 ? 10 : 12;
  const length = major === 1 ? bytes.readUInt16LE(8) : bytes.readUInt32LE(8);
  if (length > MAX_HEADER_BYTES) {
    throw bad(path, `declares a header of ${length} bytes; expected at most ${MAX_HEADER_BYTES}`);
  }
  return { start, length };
}

/** The header of a file of `fileBytes` bytes whose header text is `text`. */
export function parseHeader(text: string, offset: number, fileBytes: number, path: string): NpyHeader {
  const { descr, fortran, shape } = fields(text, path);
  if (typeof descr !== 'string') {
    throw bad(path, 'holds a structured dtype; expected one of <f2, <f4, <f8: save one field of it');
  }
  const dtype = DTYPES.get(descr);
  if (dtype === undefined) {
    const why = descr.startsWith('>') ? 'is big-endian' : 'is not supported';
    throw bad(path, `has dtype '${descr}', which ${why}; expected <f2, <f4 or <f8: save a.astype('<f4')`);
  }
  if (fortran !== false) {
    if (fortran !== true) throw bad(path, 'has a fortran_order that is neither True nor False');
    throw bad(path, 'is in Fortran order; expected C order: save numpy.ascontiguousarray(a)');
  }
  const dataBytes = ITEM_BYTES[dtype] * shape.reduce((product, extent) => product * extent, 1);
  if (!Number.isSafeInteger(dataBytes)) throw bad(path, `has shape (${shape.join(', ')}), larger than 2^53 bytes`);
  if (offset + dataBytes !== fileBytes) {
    const kind = offset + dataBytes > fileBytes ? 'is truncated' : 'has bytes after its data';
    const need = `shape (${shape.join(', ')}) of ${descr} needs ${offset + dataBytes} bytes with the header`;
    throw bad(path, `${kind}: ${need}, the file has ${fileBytes}; write it again`);
  }
  return { dtype, shape, offset, dataBytes };
}

/** A version 1.0 header, padded so that the data begin at a multiple of 64 bytes. */
export function formatHeader(dtype: JobDType, shape: readonly number[]): Uint8Array {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  const dict = `{'descr': '${DESCR[dtype]}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const total = Math.ceil((10 + dict.length + 1) / 64) * 64;
  const header = Buffer.alloc(total, ' ', 'latin1');
  MAGIC.copy(header);
  header.writeUInt8(1, 6);
  header.writeUInt8(0, 7);
  header.writeUInt16LE(total - 10, 8);
  header.write(dict, 10, 'latin1');
  header.write('\n', total - 1, 'latin1');
  return header;
}

function fields(text: string, path: string): { descr: Literal; fortran: Literal; shape: readonly number[] } {
  let header: Literal;
  try {
    header = parseLiteral(text);
  } catch (error) {
    throw bad(path, `has a malformed header (${(error as Error).message}); write it again`);
  }
  const names = header instanceof Map ? [...header.keys()].toSorted().join(', ') : 'no dict';
  if (!(header instanceof Map) || names !== 'descr, fortran_order, shape') {
    throw bad(path, `has a header with ${names}; expected exactly descr, fortran_order, shape`);
  }
  const shape: unknown = header.get('shape');
  const isExtent = (value: unknown): value is number => typeof value === 'number' && value >= 0;
  if (!Array.isArray(shape) || !shape.every(isExtent)) {
    throw bad(path, 'has a shape that is no tuple of non-negative integers');
  }
  if (shape.length > MAX_AXES) throw bad(path, `has ${shape.length} axes; expected at most ${MAX_AXES}`);
  return { descr: header.get('descr') ?? null, fortran: header.get('fortran_order') ?? null, shape };
}

function bad(path: string, what: string): JobError {
  return new JobError('E_NPY', `${path} ${what}`, { path });
}
