/**
 * Weights in the panels that a kernel reads, packed on first use and kept with the weight. A call without them has the
 * same bits; where there is no memory for them it does without.
 */
import type { Call, TensorData, Weight } from '../contract.ts';
import type { Addon } from '../native.ts';
import { prepackNumbers, shapeNumbers } from './shape.ts';

/** A kernel of the addon and how many threads it may use. */
export interface Packer {
  readonly addon: Addon;
  readonly variant: number;
  /** Identifies the kernel's layout. */
  readonly name: string;
  readonly threads: number;
}

type Form = TensorData | Promise<TensorData | undefined> | null;

/** What of a call decides how its weight is packed. */
function keyOf({ name }: Packer, call: Call): string {
  if (call.op === 'matmul') return `${name} ${call.N} ${call.K} ${call.transposeB}`;
  if (call.op === 'conv2d') return `${name} ${call.layout} ${call.O} ${call.C} ${call.KH} ${call.KW} ${call.groups}`;
  return name;
}

/** An array for the panels; null when the call has no use for them or there is no memory. */
function allocate({ addon, variant }: Packer, call: Call, { data }: Weight): TensorData | null {
  const length = addon.prepackedLength(variant, shapeNumbers(call));
  if (length === 0) return null;
  try {
    return data instanceof Float64Array ? new Float64Array(length) : new Float32Array(length);
  } catch {
    return null;
  }
}

/** The panels of the weight, packed now if they are not yet there. */
export function weightPanelsSync(packer: Packer, call: Call, weight: Weight): TensorData | undefined {
  const key = keyOf(packer, call);
  const known = weight.forms.get(key) as Form | undefined;
  if (known !== undefined && !(known instanceof Promise)) return known ?? undefined;
  const panels = allocate(packer, call, weight);
  const { addon, variant, threads } = packer;
  if (panels) addon.runSync(variant, threads, prepackNumbers(call), weight.data, undefined, undefined, panels);
  weight.forms.set(key, panels);
  return panels ?? undefined;
}

/** The same beside the event loop; calls that want them at the same time wait for one packing. */
export async function weightPanels(packer: Packer, call: Call, weight: Weight): Promise<TensorData | undefined> {
  const key = keyOf(packer, call);
  const known = weight.forms.get(key) as Form | undefined;
  if (known !== undefined) return (await known) ?? undefined;
  const packed = allocate(packer, call, weight);
  const packing = packed ? pack(packer, call, weight, packed) : null;
  weight.forms.set(key, packing);
  const result = await packing;
  weight.forms.set(key, result ?? null);
  return result ?? undefined;
}

/** Undefined when there was no memory or no thread for it: what the call itself lacks, it will say. */
async function pack({ addon, variant, threads }: Packer, call: Call, { data }: Weight, to: TensorData) {
  try {
    const outcome = await new Promise((resolve) => {
      addon.run(variant, threads, prepackNumbers(call), data, undefined, undefined, to, undefined, resolve);
    });
    return outcome === 0 ? to : undefined;
  } catch {
    return undefined;
  }
}
