import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

/** One line of a child's `--json` output and when it came, in milliseconds of `performance.now()`. */
export interface Heard<Event> {
  readonly event: Event;
  readonly at: number;
}

/** A `uhop … --json` process of its own, its events as they come. Disposing kills it if it still runs. */
export class Child<Event extends { readonly type: string }> implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #heard: Heard<Event>[] = [];
  readonly #ended: Promise<void>;
  #listener: (event: Event) => void = () => {};
  #wake: () => void = () => {};
  #complaints = '';
  #over = false;
  #diedOf: NodeJS.Signals | null = null;

  /** Starts it; `signal` kills it. */
  constructor(args: readonly string[], signal: AbortSignal) {
    this.#process = spawn(process.execPath, [MAIN, ...args, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    });
    this.#process.on('error', (error) => {
      this.#complaints += error.message;
    });
    const { stdout, stderr } = this.#process;
    if (!stdout || !stderr) throw new Error('a child process without pipes');
    createInterface({ input: stdout }).on('line', (line) => {
      const event = JSON.parse(line) as Event;
      this.#heard.push({ event, at: performance.now() });
      this.#listener(event);
      this.#wake();
    });
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints += text;
    });
    this.#ended = new Promise((resolve) => {
      this.#process.on('close', (_code, deadly) => {
        this.#over = true;
        this.#diedOf = deadly;
        this.#wake();
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** The signal that ended the process; null while it runs, or when it ended by itself. */
  get diedOf(): NodeJS.Signals | null {
    return this.#diedOf;
  }

  /** Every event so far that `wanted` accepts. */
  all(wanted: (event: Event) => boolean): readonly Event[] {
    return this.#heard.map(({ event }) => event).filter(wanted);
  }

  /** The latest event so far that `wanted` accepts. */
  latest(wanted: (event: Event) => boolean): Heard<Event> | undefined {
    return this.#heard.findLast(({ event }) => wanted(event));
  }

  /** Calls `listener` with every event, those heard before first. */
  listen(listener: (event: Event) => void): void {
    for (const { event } of this.#heard) listener(event);
    this.#listener = listener;
  }

  /** The first event, past or to come, that `wanted` accepts; rejects when the process ends without one. */
  async hear(wanted: (event: Event) => boolean): Promise<Heard<Event>> {
    for (;;) {
      const found = this.#heard.find(({ event }) => wanted(event));
      if (found) return found;
      if (this.#over) throw new Error(`uhop (pid ${this.pid}) ended too early. ${this.#complaints.trim()}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Sends the signal and waits until the process is gone; answers the moment of sending. */
  async kill(signal: NodeJS.Signals): Promise<number> {
    const at = performance.now();
    this.#process.kill(signal);
    await this.#ended;
    return at;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) await this.kill('SIGKILL');
  }
}
