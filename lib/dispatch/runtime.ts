/** What dispatch remembers between calls, and the backends it asks. */
import type { Backend, Path, SyncBackend } from '../../backends/contract.ts';

export interface Runtime {
  readonly backends: readonly Backend[];
  /** Path ids that failed, and when each may be tried again (milliseconds of `performance.now()`). */
  readonly retired: Map<string, number>;
  /** Warnings already given. */
  readonly warned: Set<string>;
}

/** A path with the backend that runs it. */
export interface Candidate<B extends Backend = Backend> {
  readonly path: Path;
  readonly backend: B;
}

export function createRuntime(backends: readonly Backend[]): Runtime {
  return { backends, retired: new Map(), warned: new Set() };
}

export function isSync(backend: Backend): backend is SyncBackend {
  return 'runSync' in backend;
}
