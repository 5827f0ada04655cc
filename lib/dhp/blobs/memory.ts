import { DhpError } from '../errors.ts';
import type { BlobStore } from '../types.ts';
import { blobHash, checkBlobName } from './names.ts';

/** Blobs of the memory store. */
export class MemoryBlobs implements BlobStore {
  readonly #now: () => number;
  readonly #blobs = new Map<string, { readonly bytes: Uint8Array; readonly at: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async put(bytes: Uint8Array): Promise<{ readonly sha256: string; readonly bytes: number }> {
    const sha256 = blobHash(bytes);
    this.#blobs.set(sha256, { bytes: Uint8Array.from(bytes), at: this.#now() });
    return { sha256, bytes: bytes.byteLength };
  }

  async get(sha256: string): Promise<Uint8Array> {
    checkBlobName(sha256);
    const blob = this.#blobs.get(sha256);
    if (blob === undefined) throw new DhpError('E_BLOB_MISSING', `there is no blob ${sha256}`, { sha256 });
    return Uint8Array.from(blob.bytes);
  }

  async has(sha256: string): Promise<boolean> {
    checkBlobName(sha256);
    const blob = this.#blobs.get(sha256);
    if (blob !== undefined) this.#blobs.set(sha256, { ...blob, at: this.#now() });
    return blob !== undefined;
  }

  async collect(isNamed: (sha256: string) => Promise<boolean>, olderThanMs: number): Promise<number> {
    let removed = 0;
    for (const [sha256, { at }] of this.#blobs) {
      if (this.#now() - at <= olderThanMs || (await isNamed(sha256))) continue;
      this.#blobs.delete(sha256);
      removed += 1;
    }
    return removed;
  }
}
