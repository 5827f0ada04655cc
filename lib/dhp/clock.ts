/**
 * Milliseconds of CLOCK_MONOTONIC. All threads of a process read the same origin (unlike `performance.now`), and no step
 * of the wall clock moves it.
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** A delay that a timer keeps: Node fires at once for anything longer, so long waits are armed again when they ring. */
export const timerDelay = (ms: number): number => Math.min(Math.max(Math.ceil(ms), 0), LONGEST_DELAY_MS);

/** Resolves after `ms`, or as soon as `signal` aborts; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, timerDelay(ms));
    signal?.addEventListener('abort', done, { once: true });
  });
}
