/** The calls that a signal would abort. They share one listener, since Node takes many for a leak and warns. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

function abortAll(this: AbortSignal): void {
  for (const abort of waiting.get(this) ?? []) abort();
}

/** Calls `abort` when the signal does, until the function that comes back is called. */
export function onAbort(signal: AbortSignal, abort: () => void): () => void {
  const calls = waiting.get(signal) ?? new Set();
  if (calls.size === 0) {
    waiting.set(signal, calls);
    signal.addEventListener('abort', abortAll, { once: true });
  }
  calls.add(abort);
  return () => {
    calls.delete(abort);
    if (calls.size === 0) signal.removeEventListener('abort', abortAll);
  };
}
