import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/lib/cli/main.js', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** An event as `--json` prints it. */
export type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The command as a process of its own, as it is installed. */
export class Running implements AsyncDisposable {
  readonly finished: Promise<Finished>;
  readonly #process: ChildProcess;
  readonly #events: Event[] = [];
  #stdout = '';
  #wake: () => void = () => {};
  #over = false;

  constructor(args: readonly string[], { cwd, env }: StartOptions = {}) {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('UHOP_')));
    this.#process = spawn(process.execPath, [MAIN, ...args], {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...clean, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      this.#wake();
    });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    if (args.includes('--json') && this.#process.stdout) {
      createInterface({ input: this.#process.stdout }).on('line', (line) => {
        this.#events.push(JSON.parse(line) as Event);
        this.#wake();
      });
    }
    this.finished = new Promise((resolve) =>
      this.#process.on('close', (code, signal) => {
        this.#over = true;
        this.#wake();
        resolve({ code, signal, stdout: this.#stdout, stderr });
      }),
    );
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** The first event, past or to come, that `wanted` accepts. */
  async hear(wanted: (event: Event) => boolean): Promise<Event> {
    let found: Event | undefined;
    await this.#until(() => (found = this.#events.find(wanted)) !== undefined);
    return found as Event;
  }

  /** Waits until stdout holds these words. */
  says(words: string): Promise<void> {
    return this.#until(() => this.#stdout.includes(words));
  }

  async #until(done: () => boolean): Promise<void> {
    while (!done()) {
      if (this.#over) throw new Error(`ended without it: ${JSON.stringify(await this.finished)}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  kill(signal: NodeJS.Signals): Promise<Finished> {
    this.#process.kill(signal);
    return this.finished;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) await this.kill('SIGKILL');
  }
}

/** Runs the command to its end. */
export function uhop(args: readonly string[], options: StartOptions = {}): Promise<Finished> {
  return new Running(args, options).finished;
}

/** Each line of `text` parsed as JSON: throws on the first that is none. */
export function lines(text: string): readonly Event[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Event);
}

/** A folder that is removed when the scope ends. */
export async function folder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'uhop-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** An f32 `.npy` file of version 1.0, written from the format's description. */
export async function writeNpy(path: string, shape: readonly number[], values: Float32Array): Promise<void> {
  const dict = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`;
  const padded = dict.padEnd(Math.ceil((dict.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.concat([
    Buffer.from('\x93NUMPY\x01\x00', 'latin1'),
    Buffer.alloc(2),
    Buffer.from(padded, 'latin1'),
  ]);
  head.writeUInt16LE(padded.length, 8);
  await writeFile(path, Buffer.concat([head, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)]));
}

/** A matmul job of `tiles` row tiles in `path`, with its input files; answers the spec's path. */
export async function matmulJob(
  path: string,
  {
    tiles = 8,
    rows = 16,
    k = 32,
    columns = 48,
    ...more
  }: Readonly<Record<string, unknown>> & {
    readonly tiles?: number;
    readonly rows?: number;
    readonly k?: number;
    readonly columns?: number;
  } = {},
): Promise<string> {
  const wave = (length: number): Float32Array => Float32Array.from({ length }, (_, at) => Math.sin(at));
  await writeNpy(join(path, 'a.npy'), [tiles * rows, k], wave(tiles * rows * k));
  await writeNpy(join(path, 'b.npy'), [k, columns], wave(k * columns));
  const spec = join(path, 'spec.json');
  const json = {
    op: 'matmul',
    inputs: { a: 'a.npy', b: 'b.npy' },
    output: 'c.npy',
    tile: { rows, cols: columns },
    ...more,
  };
  await writeFile(spec, JSON.stringify(json));
  return spec;
}
