/** A call into an addon that does nothing, awaited where ours is: what the others' time is more than. */
import { createRequire } from 'node:module';
import { build } from './build.ts';
import type { Absent, Team } from './contender.ts';
import { local } from './local.ts';

const NAME = 'empty-call';

export async function emptyCall(): Promise<Team | Absent> {
  try {
    const empty = createRequire(import.meta.url)(build('empty')) as () => void;
    const later = async (): Promise<void> => empty();
    return {
      name: NAME,
      role: 'ceiling',
      version: `Node-API, ${process.version}`,
      enter: async (one) => {
        const async = one.has('async');
        const note = async ? 'awaited' : 'returns';
        const call = async ? later : empty;
        return local({ name: NAME, role: 'ceiling', note, threads: 1, async, call, result: () => null });
      },
      close: async () => {},
    };
  } catch (error) {
    return { name: NAME, reason: (error as Error).message };
  }
}
