import { EXIT } from './failure.ts';

/** `signal` aborts at the first SIGINT or SIGTERM; the second one ends the process at once, as SIGKILL would. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

/** Listens until disposed. `onFirst` tells the person what the first signal set in motion. */
export function interruptible(onFirst: (name: NodeJS.Signals) => void = () => {}): Interrupt {
  const controller = new AbortController();
  const listener = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort(new Error(`stopped by ${name}`));
    onFirst(name);
  };
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', listener).off('SIGTERM', listener);
    },
  };
}
