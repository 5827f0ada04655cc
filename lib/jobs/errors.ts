import { DhpError } from '../dhp/errors.ts';

export type JobErrorCode =
  | 'E_SPEC'
  | 'E_NPY'
  | 'E_INPUT'
  | 'E_INPUT_CHANGED'
  | 'E_OUTPUT'
  | 'E_NUMERICS'
  | 'E_VERIFY'
  | 'E_BLOB';

/** Every error of the job side. `code` is stable; the message names the file or JSON path, what was got, what was expected and what to do. */
export class JobError extends Error {
  readonly code: JobErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: JobErrorCode, message: string, details: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'JobError';
    this.code = code;
    this.details = details;
  }
}

/** Whether a stored tile could not be read because its blob is gone or its bytes have changed. */
export function isDamage(error: unknown): error is DhpError {
  return error instanceof DhpError && (error.code === 'E_BLOB_MISSING' || error.code === 'E_BLOB_CORRUPT');
}
