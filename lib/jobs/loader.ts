import type { Call, Tensor, TensorData } from '../../backends/contract.ts';
import { elements, sameBox } from './box.ts';
import type { NpyFile } from './files.ts';
import { ITEM_BYTES } from './npy.ts';
import { type Operand, type TileCall, tileCall } from './operands.ts';
import type { Box, JobDType, Tile } from './types.ts';

/** A tile with its inputs in memory, valid until the tile after the next is loaded. */
export interface LoadedTile {
  readonly tile: Tile;
  readonly work: TileCall;
  readonly inputs: readonly Tensor[];
  readonly bias: Tensor | null;
}

/** An input file with the hash it must keep. */
export interface PinnedFile {
  readonly file: NpyFile;
  readonly sha256: string;
}

/**
 * Reads the inputs of tiles into buffers that are used again: two per file, so that one tile can be computed while the next
 * is read, and a block that the tile before needed as well is not read twice.
 */
export class Loader {
  readonly #call: Call;
  readonly #inputs: readonly BlockReader[];
  readonly #bias: BlockReader | null;

  constructor(call: Call, inputs: readonly PinnedFile[], bias: PinnedFile | null) {
    this.#call = call;
    this.#inputs = inputs.map((pinned) => new BlockReader(pinned));
    this.#bias = bias && new BlockReader(bias);
  }

  /** `E_INPUT_CHANGED` when a file is no longer what was submitted. */
  async load(tile: Tile): Promise<LoadedTile> {
    const work = tileCall(this.#call, tile);
    const inputs: Tensor[] = [];
    for (const [i, operand] of work.inputs.entries()) inputs.push(await (this.#inputs[i] as BlockReader).read(operand));
    const bias = work.bias === null || this.#bias === null ? null : await this.#bias.read(work.bias);
    return { tile, work, inputs, bias };
  }
}

interface Slot {
  box: Box | null;
  bytes: Uint8Array;
}

class BlockReader {
  readonly #pinned: PinnedFile;
  /** The slot given out last comes first: the tile being computed uses it. */
  #slots: readonly [Slot, Slot] = [emptySlot(), emptySlot()];

  constructor(pinned: PinnedFile) {
    this.#pinned = pinned;
  }

  async read({ view, box, shape }: Operand): Promise<Tensor> {
    const { file, sha256 } = this.#pinned;
    const { dtype } = file.header;
    const bytes = elements(box.extent) * ITEM_BYTES[dtype];
    const [last, other] = this.#slots;
    const slot = last.box !== null && sameBox(last.box, box) ? last : other;
    if (slot === other) this.#slots = [other, last];
    if (slot.box === null || !sameBox(slot.box, box)) {
      slot.box = null;
      if (slot.bytes.byteLength < bytes) slot.bytes = new Uint8Array(bytes);
      await file.readBox(view, box, slot.bytes.subarray(0, bytes));
      slot.box = box;
    }
    await file.assertIs(sha256);
    return { data: viewAs(dtype, slot.bytes, bytes), shape, dtype };
  }
}

function emptySlot(): Slot {
  return { box: null, bytes: new Uint8Array(0) };
}

function viewAs(dtype: JobDType, { buffer }: Uint8Array, bytes: number): TensorData {
  const length = bytes / ITEM_BYTES[dtype];
  if (dtype === 'f32') return new Float32Array(buffer, 0, length);
  return dtype === 'f64' ? new Float64Array(buffer, 0, length) : new Uint16Array(buffer, 0, length);
}
