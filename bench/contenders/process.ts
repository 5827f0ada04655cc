/** A program of bench/peers as a contender: a process that lives through the whole run and times its calls itself. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Contender, Role, Turn } from './contender.ts';

export interface PeerProcess {
  /** Its name and version as it says them. */
  readonly version: string;
  /** One line in, one line out. */
  ask(line: string): Promise<string>;
  close(): Promise<void>;
}

export async function start(program: string): Promise<PeerProcess> {
  // OPENBLAS_CORETYPE would make OpenBLAS use another processor's kernels.
  const { OPENBLAS_CORETYPE: _, ...env } = process.env;
  const child = spawn(program, [], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  // A program that does not start, or is gone, shows in the answer that it does not give.
  closed.catch(() => {});
  child.stdin.on('error', () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${program} ended before it answered`);
    return value;
  };
  const ask = (line: string): Promise<string> => {
    child.stdin.write(`${line}\n`);
    return answer();
  };
  const close = async (): Promise<void> => {
    child.stdin.end();
    await closed;
  };
  return { version: (await answer()).replace(/^hello /, ''), ask, close };
}

export interface PeerCase {
  readonly name: string;
  readonly role: Role;
  readonly threads: number;
  readonly lingers?: number;
  /** The line that sets the case up. */
  readonly line: string;
}

/** A process holds one case: the contender that entered last. */
export async function enter(peer: PeerProcess, one: PeerCase): Promise<Contender | string> {
  const { line, ...about } = one;
  const [, verdict, words = 'no answer'] = /^(\w+) ?(.*)$/.exec(await peer.ask(line)) ?? [];
  if (verdict !== 'ok') return words;
  let last: number | undefined;
  const run = async (seconds: number): Promise<number> => {
    const repeats = last === undefined ? 1 : Math.max(1, Math.ceil(seconds / last));
    const took = Number(await peer.ask(`run ${repeats}`));
    if (!(took > 0)) throw new Error(`${about.name}: ${line}: took ${took} seconds`);
    last = took / repeats;
    return last;
  };
  const turn = async ({ warm, timed }: Turn): Promise<number> => {
    await run(warm);
    return run(timed);
  };
  const sample = async (stride: number): Promise<Float32Array | null> => {
    await peer.ask('run 1');
    const numbers = (await peer.ask(`result ${stride}`)).trim();
    return numbers === '' ? null : Float32Array.from(numbers.split(' '), Number);
  };
  return { ...about, note: words, sample, turn, close: async () => {} };
}
