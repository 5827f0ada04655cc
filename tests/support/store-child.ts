import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A process of `store-child.mjs`. */
export class StoreChild implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  constructor(url: string, role: string, id = '') {
    const script = fileURLToPath(new URL('./store-child.mjs', import.meta.url));
    // A child that aborts prints its stack, which is no news.
    const stderr = role === 'abort' ? 'ignore' : 'inherit';
    this.process = spawn(process.execPath, [script, url, role, id], { stdio: ['pipe', 'pipe', stderr] });
    this.#ended = once(this.process, 'exit');
    this.#lines = createInterface({ input: this.process.stdout! })[Symbol.asyncIterator]();
  }

  /** The next line it said, parsed; null when it ended instead. */
  async line<T>(): Promise<T | null> {
    const { value, done } = await this.#lines.next();
    return done ? null : (JSON.parse(value as string) as T);
  }

  /** Lets a child that waits go on. */
  proceed(): void {
    this.process.stdin!.write('go\n');
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  async ended(): Promise<void> {
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL');
    await this.#ended;
  }
}
