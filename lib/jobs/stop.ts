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

/** Aborts when a run has to end: because its claim is lost, or because a stop was asked for. */
export interface StopSignals extends Disposable {
  /** At once; looked at where nothing would be lost. */
  readonly now: AbortSignal;
  /** After a stop only when the grace time is over; looked at inside tiles. */
  readonly halt: AbortSignal;
}

export function stopSignals(claim: AbortSignal, stop: AbortSignal | undefined, graceMs: number): StopSignals {
  const asked = new AbortController();
  const overdue = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onStop = (): void => {
    const reason = new Stopped(stop as AbortSignal);
    asked.abort(reason);
    timer = setTimeout(() => overdue.abort(reason), graceMs);
  };
  if (stop?.aborted) onStop();
  else stop?.addEventListener('abort', onStop, { once: true });
  return {
    now: AbortSignal.any([claim, asked.signal]),
    halt: AbortSignal.any([claim, overdue.signal]),
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      stop?.removeEventListener('abort', onStop);
    },
  };
}
