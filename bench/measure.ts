/**
 * Contenders measured turn by turn, A B A B …, so that a busy machine slows them alike, each round beginning with
 * another one. After a turn of several threads there is a pause, in which they stop spinning for more work and leave
 * the processors (one thread that still spins takes a processor from whoever comes next); before a turn come some calls that are not timed, in which caches, clock and sleeping threads come
 * back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, Turn } from './contenders/contender.ts';

export interface Pace extends Turn {
  /** Seconds. */
  readonly pause: number;
  readonly rounds: number;
}

export const FULL: Pace = { pause: 0.04, warm: 0.01, timed: 0.025, rounds: 11 };
export const QUICK: Pace = { pause: 0.03, warm: 0.004, timed: 0.01, rounds: 3 };

/** The seconds of a call, round by round. */
export interface Times {
  readonly contender: Contender;
  readonly seconds: readonly number[];
}

/** Floors are many times slower: where their calls are long, three rounds show that as well. */
const FEW_ROUNDS = 3;
const LONG_SECONDS = 0.05;

export async function interleave(contenders: readonly Contender[], pace: Pace): Promise<readonly Times[]> {
  const taking: { contender: Contender; rounds: number; seconds: number[] }[] = [];
  for (const contender of contenders) {
    const seconds = await calibrate(contender, pace);
    const few = contender.role === 'floor' && seconds > LONG_SECONDS;
    taking.push({ contender, rounds: few ? Math.min(FEW_ROUNDS, pace.rounds) : pace.rounds, seconds: [] });
  }
  let before = contenders.at(-1);
  for (let round = 0; round < pace.rounds; round++) {
    for (const at of taking.keys()) {
      const one = taking[(at + round) % taking.length]!;
      if (round >= one.rounds) continue;
      if (before && before.threads > 1) await leave(before, pace);
      one.seconds.push(await one.contender.turn(pace));
      before = one.contender;
    }
  }
  return taking;
}

/** Turns that do not count: one call, and where that was short so many that the next turns are long enough. */
async function calibrate(contender: Contender, pace: Pace): Promise<number> {
  const seconds = await contender.turn({ warm: 0, timed: 1e-6 });
  await leave(contender, pace);
  return seconds > LONG_SECONDS ? seconds : contender.turn(pace);
}

function leave({ lingers = 0 }: Contender, { pause }: Pace): Promise<void> {
  return sleep(1e3 * Math.max(pause, lingers));
}
