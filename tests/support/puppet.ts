import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';

export interface PuppetEvent {
  readonly event: string;
  readonly id?: string;
  readonly [key: string]: unknown;
}

export interface Outcome {
  readonly value?: unknown;
  readonly error?: { readonly code?: string; readonly message: string; readonly details?: Record<string, unknown> };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether nobody is writing to a store's database. */
class Writable implements Disposable {
  readonly #db: Database.Database;

  constructor(directory: string) {
    this.#db = new Database(join(directory, 'dhp.sqlite'), { timeout: 0 });
  }

  isFree(): boolean {
    try {
      this.#db.exec('BEGIN IMMEDIATE; ROLLBACK');
      return true;
    } catch {
      return false;
    }
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

/** A real process that works on a store as it is told; see `puppet.mjs` for what it can do. */
export class Puppet implements AsyncDisposable {
  readonly events: PuppetEvent[] = [];
  output = '';
  readonly #url: string;
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, (outcome: Outcome) => void>();
  readonly #changed = new EventEmitter();
  #n = 0;

  private constructor(url: string, env: NodeJS.ProcessEnv) {
    this.#url = url;
    this.#child = fork(fileURLToPath(new URL('./puppet.mjs', import.meta.url)), [url], {
      env: { ...process.env, ...env },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    this.#child.on('message', (message: PuppetEvent | ({ readonly n: number } & Outcome)) => {
      if ('event' in message) this.events.push(message);
      else this.#answers.get(message.n)?.(message);
      this.#changed.emit('change');
    });
    this.#child.once('exit', (code, signal) => {
      for (const answer of this.#answers.values()) answer({ error: { message: `ended with ${code ?? signal}` } });
      this.#changed.emit('change');
    });
  }

  static async start(url: string, env: NodeJS.ProcessEnv = {}): Promise<Puppet> {
    const puppet = new Puppet(url, env);
    await puppet.event('ready');
    return puppet;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** The outcome of a command; also when the process dies of it. */
  call(command: string, ...args: readonly unknown[]): Promise<Outcome> {
    this.#n += 1;
    const n = this.#n;
    return new Promise((resolve) => {
      this.#answers.set(n, resolve);
      this.#child.send({ n, command, args });
    });
  }

  /** The value of a command that has to succeed. */
  async ask(command: string, ...args: readonly unknown[]): Promise<unknown> {
    const { value, error } = await this.call(command, ...args);
    if (error !== undefined) throw new Error(`${command}: ${error.message}\n${this.output}`);
    return value;
  }

  /** The first event of this kind (of this handoff), awaited. */
  async event(kind: string, id?: string): Promise<PuppetEvent> {
    for (;;) {
      const found = this.events.find((each) => each.event === kind && (id === undefined || each.id === id));
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`the process ended before '${kind}':\n${this.output}`);
      }
      await once(this.#changed, 'change');
    }
  }

  /**
   * Stops the process at a moment when it holds no lock on its store. (One that is stopped in the middle of a commit keeps
   * everybody out until it is thawed or killed, as SQLite's locks belong to processes.)
   */
  async freeze(): Promise<void> {
    using db = new Writable(this.#url);
    for (;;) {
      this.#child.kill('SIGSTOP');
      while (!readFileSync(`/proc/${this.pid}/stat`, 'latin1').includes(') T ')) await pause(1);
      if (db.isFree()) return;
      this.#child.kill('SIGCONT');
      await pause(5);
    }
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** How the process ended: its exit code or the signal. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended();
  }
}
