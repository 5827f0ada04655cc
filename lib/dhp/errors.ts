export type DhpErrorCode =
  | 'E_ARGUMENT'
  | 'E_CANONICAL'
  | 'E_SCHEMA'
  | 'E_RESULT'
  | 'E_NOT_FOUND'
  | 'E_STATE'
  | 'E_LEASE_LOST'
  | 'E_BUDGET'
  | 'E_SEQUENCE'
  | 'E_ID_MISMATCH'
  | 'E_CHECKPOINT_CORRUPT'
  | 'E_BLOB_MISSING'
  | 'E_BLOB_CORRUPT'
  | 'E_STORE_FULL'
  | 'E_STORE_NEWER'
  | 'E_STORE'
  | 'E_NETWORK_FS'
  | 'E_ABORTED';

/** Every error of the handoff side. `code` is stable; `details` of a lost write hold the present state and fence. */
export class DhpError extends Error {
  readonly code: DhpErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: DhpErrorCode, message: string, details: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DhpError';
    this.code = code;
    this.details = details;
  }
}

/** A write of somebody who no longer holds the claim. */
export class LeaseLost extends DhpError {
  constructor(message: string, details: Record<string, unknown> = {}) {
    super('E_LEASE_LOST', message, details);
    this.name = 'LeaseLost';
  }
}
