/**
 * Contenders measured turn by turn, so that a busy machine slows them alike. Before each turn there is a pause, in which
 * the threads of the one before stop spinning for more work and leave the processors, and some calls that are not timed,
 * in which caches, clock and sleeping threads come back.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 40;
const WARM_MS = 10;
const TURN_MS = 25;

export interface Contender {
  readonly name: string;
  run(): Promise<unknown> | void;
}

export interface Timing {
  readonly name: string;
  /** Milliseconds. */
  readonly median: number;
  /** Half the distance between the quartiles over the median. */
  readonly spread: number;
}

/** A B A B …: `rounds` timed turns each after two that are not counted; a short call is repeated within its turn. */
export async function interleave(contenders: readonly Contender[], rounds: number): Promise<readonly Timing[]> {
  const repeats: number[] = [];
  for (const contender of contenders) {
    await turn(contender, 1);
    repeats.push(Math.max(1, Math.ceil(TURN_MS / (await turn(contender, 1)))));
  }
  const times = contenders.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, contender] of contenders.entries()) times[at]!.push(await turn(contender, repeats[at]!));
  }
  return contenders.map(({ name }, at) => ({ name, ...summary(times[at]!) }));
}

async function turn(contender: Contender, repeats: number): Promise<number> {
  await sleep(PAUSE_MS);
  const warm = performance.now() + WARM_MS;
  do await contender.run();
  while (performance.now() < warm);
  const start = performance.now();
  for (let repeat = 0; repeat < repeats; repeat++) await contender.run();
  return (performance.now() - start) / repeats;
}

function summary(times: readonly number[]): { median: number; spread: number } {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return { median: at(0.5), spread: (at(0.75) - at(0.25)) / 2 / at(0.5) };
}

/** Numbers in [-0.5, 0.5). */
export function random(length: number): Float32Array {
  return Float32Array.from({ length }, () => Math.random() - 0.5);
}
