/** Who computes a case, and how long it takes. */
import type { Case } from '../cases.ts';

/**
 * `ours` and the `peer`s are what the benchmark is about; a `floor` is what one would have without a library; a
 * `ceiling` computes nothing of the case and shows what could not be done faster.
 */
export type Role = 'ours' | 'peer' | 'floor' | 'ceiling';

/** Seconds that one turn takes before and under the clock. */
export interface Turn {
  readonly warm: number;
  readonly timed: number;
}

export interface Contender {
  readonly name: string;
  readonly role: Role;
  /** The path, kernel or implementation that runs. */
  readonly note: string;
  readonly threads: number;
  /** Seconds that its threads spin for more work after a turn, where that is longer than the usual pause. */
  readonly lingers?: number;
  /** Computes once and gives every stride-th number of the result; null where nothing of the case is computed. */
  sample(stride: number): Promise<ArrayLike<number> | null>;
  /** Calls without the clock, then calls with it: seconds of one. */
  turn(turn: Turn): Promise<number>;
  close(): Promise<void>;
}

/** A kind of contender, once per run of the benchmark. */
export interface Team {
  readonly name: string;
  readonly role: Role;
  /** Name and version of what is measured. */
  readonly version: string;
  /** Operations a second at the least, roughly: of a floor, which is left out where a call would take too long. */
  readonly rate?: number;
  /** Ready to compute the case; a sentence where it does not take part. */
  enter(one: Case): Promise<Contender | string>;
  close(): Promise<void>;
}

/** A team that cannot take part at all, and why. */
export interface Absent {
  readonly name: string;
  readonly reason: string;
}

export const isAbsent = (team: Team | Absent): team is Absent => 'reason' in team;
export const isPresent = (team: Team | Absent): team is Team => !isAbsent(team);

/** Every stride-th of the numbers. */
export function strided(numbers: ArrayLike<number>, stride: number): Float32Array {
  return Float32Array.from({ length: Math.ceil(numbers.length / stride) }, (_, at) => numbers[at * stride]!);
}
