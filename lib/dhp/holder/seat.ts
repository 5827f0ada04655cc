import { Worker } from 'node:worker_threads';
import { DhpError, LeaseLost } from '../errors.ts';
import type { Store, Token } from '../types.ts';
import { Heart, type Pulse, pulseKey } from './heart.ts';
import type { FromHeart, ToHeart } from './heart-thread.ts';

/** A place at a heart for one claim: taken before the claim is made, left after its last write. */
export interface Seat {
  /** Begins to renew the claim. `onLost` is called once, if the lease is found lost. */
  beat(pulse: Pulse, onLost: (error: LeaseLost) => void): void;
  leave(): void;
}

/** An unused thread stays this long for the next claim. */
const IDLE_MS = 10_000;

/** Resolves when the thread has opened its store; rejects when it cannot. */
function untilReady(worker: Worker, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void =>
      reject(new DhpError('E_STORE', `The heartbeat thread could not open ${url}: ${String(cause)}`, { url }, cause));
    worker.once('message', () => resolve());
    worker.once('exit', (code) => refuse(`it ended with code ${code}`));
    worker.on('error', refuse);
  });
}

/**
 * The main thread's end of a heart thread. The thread never keeps the process alive and never prints: what would be
 * printed in it goes to streams that nobody reads. If it dies, claims notice by their own deadline.
 */
class HeartThread {
  readonly #worker: Worker;
  readonly #onLost = new Map<string, (error: LeaseLost) => void>();
  readonly #onEnd: () => void;
  #seats = 0;
  #idle: NodeJS.Timeout | undefined;

  private constructor(worker: Worker, onEnd: () => void) {
    this.#worker = worker;
    this.#onEnd = onEnd;
    worker.on('message', ({ lost, message, details }: FromHeart) => {
      this.#onLost.get(lost)?.(new LeaseLost(message, details));
    });
    worker.unref();
  }

  /** `onEnd` is called when the thread takes no more claims, for whatever reason. */
  static async open(url: string, onEnd: () => void): Promise<HeartThread> {
    const worker = new Worker(new URL('./heart-thread.js', import.meta.url), {
      workerData: url,
      execArgv: [],
      stdout: true,
      stderr: true,
      name: 'uhop-heart',
    });
    worker.once('exit', onEnd);
    await untilReady(worker, url);
    return new HeartThread(worker, onEnd);
  }

  sit(): Seat {
    this.#seats += 1;
    clearTimeout(this.#idle);
    let token: Token | undefined;
    let left = false;
    return {
      beat: (pulse, onLost) => {
        token = pulse.token;
        this.#onLost.set(pulseKey(token), onLost);
        this.#say({ start: pulse });
      },
      leave: () => {
        if (left) return;
        left = true;
        if (token !== undefined) {
          this.#onLost.delete(pulseKey(token));
          this.#say({ stop: token });
        }
        this.#seats -= 1;
        if (this.#seats === 0) this.#idle = setTimeout(() => this.#retire(), IDLE_MS).unref();
      },
    };
  }

  #retire(): void {
    this.#onEnd();
    this.#say('end');
  }

  #say(word: ToHeart): void {
    this.#worker.postMessage(word);
  }
}

function sitBeside(heart: Heart): Seat {
  let token: Token | undefined;
  return {
    beat: (pulse, onLost) => {
      token = pulse.token;
      heart.start(pulse, onLost);
    },
    leave: () => {
      if (token !== undefined) heart.stop(token);
    },
  };
}

const threads = new WeakMap<Store, Promise<HeartThread>>();
const hearts = new WeakMap<Store, Heart>();

/**
 * A seat at the heart of a store: one thread with a connection of its own per store object, or, for a store that no other
 * thread can open, timers in this thread.
 */
export async function takeSeat(store: Store): Promise<Seat> {
  const { url } = store;
  if (url === null) {
    const heart = hearts.get(store) ?? new Heart(store);
    hearts.set(store, heart);
    return sitBeside(heart);
  }
  const running = threads.get(store);
  if (running !== undefined) return (await running).sit();
  const opened = HeartThread.open(url, () => {
    if (threads.get(store) === opened) threads.delete(store);
  });
  threads.set(store, opened);
  return (await opened).sit();
}
