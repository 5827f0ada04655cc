/**
 * A contender in this process. A `Benchmark` object finds how often a call must be repeated for a turn to be long
 * enough for the clock, and times the turn; which turn comes when, and what is made of the times, measure.ts says.
 */
import Benchmark from 'benchmark';
import { type Contender, type Role, strided, type Turn } from './contender.ts';

export interface Local {
  readonly name: string;
  readonly role: Role;
  readonly note: string;
  readonly threads: number;
  /** The call is over when the promise it gives has settled. */
  readonly async?: boolean;
  call(): unknown;
  /** The numbers of the last call; null where it computes nothing of the case. */
  result(): ArrayLike<number> | null | Promise<ArrayLike<number>>;
  close?(): unknown;
}

/** Benchmark's own first call in a turn is warm-up enough for a call that takes longer. */
const LONG_SECONDS = 0.1;

/**
 * V8 compiles what is called often in steps, on a thread of its own, and takes some of it back when other ops come by;
 * before, a call of microseconds takes ten times as long. Short calls are made for so long before the first round.
 */
const COMPILE_SECONDS = 0.4;
const SHORT_SECONDS = 2e-4;

/**
 * Short calls are made in batches that take so long. Benchmark writes the loop around what it times anew for every
 * turn: one that went round often would have V8 compile it, and all that it calls, in the middle of the turn.
 */
const BATCH_SECONDS = 1e-3;

export function local(one: Local): Contender {
  const { name, role, note, threads } = one;
  let batch = 1;
  let last = LONG_SECONDS;
  let compiled = false;
  const calls = one.async
    ? async (): Promise<void> => {
        for (let call = 0; call < batch; call++) await one.call();
      }
    : (): void => {
        for (let call = 0; call < batch; call++) one.call();
      };
  const bench = benchmark(name, calls, one.async ?? false);
  const turn = async ({ warm, timed }: Turn): Promise<number> => {
    const cold = last < SHORT_SECONDS && !compiled;
    if (last < LONG_SECONDS) await repeat(calls, cold ? COMPILE_SECONDS : warm);
    compiled ||= cold;
    last = (await bench(timed)) / batch;
    batch = Math.max(1, Math.round(BATCH_SECONDS / last));
    return last;
  };
  const sample = async (stride: number): Promise<ArrayLike<number> | null> => {
    await one.call();
    const numbers = await one.result();
    return numbers && strided(numbers, stride);
  };
  return { name, role, note, threads, sample, turn, close: async () => void (await one.close?.()) };
}

async function repeat(calls: () => unknown, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1e3;
  do await calls();
  while (performance.now() < end);
}

/** One sample of at least so many seconds: seconds of one execution of `fn`. */
function benchmark(name: string, fn: () => unknown, async: boolean): (seconds: number) => Promise<number> {
  let fail: (error: unknown) => void;
  const deferred = (turn: { resolve(): void }): unknown => (fn() as Promise<void>).then(() => turn.resolve(), fail);
  const bench = new Benchmark(name, async ? { defer: true, fn: deferred } : { fn });
  // The options of an object are what every `run` of it goes back to; its type does not show them.
  const { options } = bench as unknown as { readonly options: Benchmark.Options };
  // One sample a run, however short it was: `run` is asked again every round.
  Object.assign(options, { minSamples: 1, maxTime: -1 });
  return (seconds) =>
    new Promise((resolve, reject) => {
      fail = reject;
      options.minTime = seconds;
      bench.off('complete');
      bench.on('complete', () => {
        // So many that the next turn is long enough at the first attempt.
        options.initCount = Math.max(1, Math.ceil((1.25 * seconds) / bench.times.period!));
        if (bench.error) reject(bench.error as unknown as Error);
        else resolve(bench.stats.sample[0]!);
      });
      bench.run();
    });
}
