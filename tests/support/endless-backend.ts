import { UhopError } from 'uhop';
import type { Call, Operands, Path, RunContext } from '../../backends/contract.ts';

/** A backend that never finishes by itself: its runs end when they are aborted. */
export class EndlessBackend {
  readonly id = 'endless';
  readonly #begun = new EventTarget();

  /** Resolves when a run has begun. */
  begun(): Promise<void> {
    return new Promise((resolve) => {
      this.#begun.addEventListener('run', () => resolve(), { once: true });
    });
  }

  async probe(): Promise<readonly []> {
    return [];
  }

  paths(): readonly Path[] {
    return [{ id: 'endless:loop', backend: 'endless', seconds: 1e9, source: 'estimate', inline: false }];
  }

  run(_path: Path, _call: Call, _operands: Operands, { signal }: RunContext): Promise<void> {
    return new Promise((_, reject) => {
      const abort = (): void => reject(new UhopError('E_ABORTED', 'endless', {}, signal?.reason));
      signal?.addEventListener('abort', abort, { once: true });
      this.#begun.dispatchEvent(new Event('run'));
    });
  }
}
