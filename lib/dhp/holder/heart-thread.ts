import { parentPort, workerData } from 'node:worker_threads';
import type { LeaseLost } from '../errors.ts';
import { openStore } from '../open.ts';
import type { Token } from '../types.ts';
import { Heart, type Pulse, pulseKey } from './heart.ts';

/** What the main thread says. */
export type ToHeart = { readonly start: Pulse } | { readonly stop: Token } | 'end';
/**
 * What the heart says of a lost claim, after one first empty message: ready. An error is sent as its parts, since a
 * structured clone keeps neither its class nor its code.
 */
export interface FromHeart {
  readonly lost: string;
  readonly message: string;
  readonly details: LeaseLost['details'];
}

if (parentPort !== null) {
  const port = parentPort;
  const store = await openStore(workerData as string);
  const heart = new Heart(store);
  port.on('message', async (word: ToHeart) => {
    if (word === 'end') {
      await store.close();
      port.close();
    } else if ('stop' in word) {
      heart.stop(word.stop);
    } else {
      const lost = pulseKey(word.start.token);
      heart.start(word.start, ({ message, details }) => {
        port.postMessage({ lost, message, details } satisfies FromHeart);
      });
    }
  });
  port.postMessage(null);
}
