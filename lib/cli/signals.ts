import { EXIT } from './failure.ts';
import type { Output } from './output.ts';

/** `signal` aborts at the first SIGINT or SIGTERM; the second one ends the process at once, as SIGKILL would. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

/** Listens until disposed. */
export function interruptible(output: Output): Interrupt {
  const controller = new AbortController();
  const listener = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    output.note(`\n${name}: stopping; once more stops at once`);
    controller.abort(name);
  };
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', listener).off('SIGTERM', listener);
    },
  };
}
