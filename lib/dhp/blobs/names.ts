import { createHash } from 'node:crypto';
import { DhpError } from '../errors.ts';
import { SHA256_HEX } from '../protocol/record.ts';

export function blobHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A blob's name becomes part of a path, so nothing but 64 hex digits passes. */
export function checkBlobName(sha256: string): void {
  if (SHA256_HEX.test(sha256)) return;
  throw new DhpError('E_ARGUMENT', `a blob is named by 64 lower-case hex digits, got ${JSON.stringify(sha256)}`);
}
