/** Somebody asked this worker to stop; the job goes on elsewhere. */
export class Stopped extends Error {
  readonly reason: string;

  constructor(signal: AbortSignal) {
    const reason = typeof signal.reason === 'string' ? signal.reason : 'stopped';
    super(`stopped: ${reason}`);
    this.name = 'Stopped';
    this.reason = reason;
  }
}

/** The two ways in which a run is told to end. */
export interface StopSignals extends Disposable {
  /** Between tiles: throws `Stopped` once a stop was asked for. */
  throwIfStopping(): void;
  /** Inside tiles: aborts when the claim is lost, or when the grace time after a stop is over. */
  readonly halt: AbortSignal;
}

export function stopSignals(claim: AbortSignal, stop: AbortSignal | undefined, graceMs: number): StopSignals {
  const overdue = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onStop = (): void => {
    timer = setTimeout(() => overdue.abort(new Stopped(stop as AbortSignal)), graceMs);
  };
  if (stop?.aborted) onStop();
  else stop?.addEventListener('abort', onStop, { once: true });
  return {
    throwIfStopping: () => {
      if (stop?.aborted) throw new Stopped(stop);
    },
    halt: AbortSignal.any([claim, overdue.signal]),
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      stop?.removeEventListener('abort', onStop);
    },
  };
}
