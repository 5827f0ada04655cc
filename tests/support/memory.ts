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

/** A view of its own elements in the middle of a buffer of NaN, `offset` elements after `guard` of them. */
export function guarded(numbers: ArrayLike<number>, offset: number, guard = 16): Float32Array {
  const whole = new Float32Array(numbers.length + 2 * guard + offset).fill(NaN);
  const view = whole.subarray(guard + offset, guard + offset + numbers.length);
  view.set(numbers);
  return view;
}

/** Whether everything around a guarded view is still NaN. */
export function guardsHold(view: Float32Array): boolean {
  const whole = new Float32Array(view.buffer);
  const first = view.byteOffset / 4;
  return whole.every((value, at) => (at >= first && at < first + view.length) || Number.isNaN(value));
}

/** The same elements in shared memory. */
export function shared(numbers: ArrayLike<number>, offset = 0): Float32Array {
  const view = new Float32Array(new SharedArrayBuffer((numbers.length + offset) * 4), offset * 4);
  view.set(numbers);
  return view;
}
