/** Padding of conv2d, resolved once for every backend. */
import { UhopError } from '../../backends/contract.ts';
import { extentsOf, isExtent, nearest, show } from './arguments.ts';

/**
 * `'valid'`; `'same'` (ONNX SAME_UPPER: the odd one at the end) or `'same-lower'` (at the start), both giving
 * ⌈input / stride⌉; one number for all sides, `[height, width]`, or `[top, left, bottom, right]`.
 */
export type Padding = 'valid' | 'same' | 'same-lower' | number | readonly number[];

export interface Pads {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

/** One spatial axis. */
export interface Axis {
  readonly size: number;
  /** (kernel - 1)·dilation + 1 */
  readonly kernel: number;
  readonly stride: number;
}

const NAMES = ['valid', 'same', 'same-lower'];

export function resolvePadding(padding: unknown, height: Axis, width: Axis): Pads {
  if (typeof padding === 'string') {
    if (padding === 'valid') return { top: 0, left: 0, bottom: 0, right: 0 };
    if (padding === 'same' || padding === 'same-lower') {
      const [top, bottom] = same(height, padding);
      const [left, right] = same(width, padding);
      return { top, left, bottom, right };
    }
    const meant = nearest(padding, NAMES);
    throw refused(padding, meant ? `; did you mean '${meant}'?` : '');
  }
  const pads = isExtent(padding) ? [padding, padding] : extentsOf(padding);
  if (pads?.length !== 2 && pads?.length !== 4) throw refused(padding);
  const [top, left, bottom = top, right = left] = pads as readonly [number, number, number?, number?];
  return { top, left, bottom, right };
}

function same({ size, kernel, stride }: Axis, kind: 'same' | 'same-lower'): readonly [number, number] {
  const total = Math.max((Math.ceil(size / stride) - 1) * stride + kernel - size, 0);
  const less = Math.floor(total / 2);
  return kind === 'same' ? [less, total - less] : [total - less, less];
}

function refused(padding: unknown, advice = ''): UhopError {
  return new UhopError(
    'E_ARGUMENT',
    `conv2d: padding must be 'valid', 'same', 'same-lower', an integer of at least 0, [height, width] or [top, left, bottom, right], got ${show(padding)}${advice}`,
  );
}
