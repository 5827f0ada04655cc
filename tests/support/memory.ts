/** Buffers as users have them. */

/** What every supported Node has and the type library does not know yet. */
export interface Resizable extends ArrayBuffer {
  resize(byteLength: number): void;
}

export function resizable(byteLength: number, maxByteLength: number): Resizable {
  const Buffers = ArrayBuffer as unknown as new (bytes: number, options: { maxByteLength: number }) => Resizable;
  return new Buffers(byteLength, { maxByteLength });
}

/** A growable shared buffer. */
export function growable(byteLength: number, maxByteLength: number): SharedArrayBuffer {
  const Buffers = SharedArrayBuffer as unknown as new (
    bytes: number,
    options: { maxByteLength: number },
  ) => SharedArrayBuffer;
  return new Buffers(byteLength, { maxByteLength });
}

/** Moves the memory under a view away and overwrites it. */
export function takeAway(data: Float32Array, value: number): Float32Array {
  const moved = structuredClone(data.buffer as ArrayBuffer, { transfer: [data.buffer as ArrayBuffer] });
  return new Float32Array(moved).fill(value);
}

/** The same elements in shared memory. */
export function shared(numbers: ArrayLike<number>): Float32Array {
  const view = new Float32Array(new SharedArrayBuffer(numbers.length * 4));
  view.set(numbers);
  return view;
}
