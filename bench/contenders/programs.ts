/** The teams that are programs of bench/peers. */
import { type Case, peerLine } from '../cases.ts';
import { build, type Program } from './build.ts';
import type { Absent, Role, Team } from './contender.ts';
import { enter, start } from './process.ts';

interface Description {
  readonly name: string;
  readonly program: Program;
  readonly role: Role;
  readonly threads: number;
  readonly lingers?: number;
  readonly rate?: number;
  /** How a case is put to it; a sentence beginning with `no ` where it does not take part. */
  line(one: Case): string;
}

async function team({ program, line, rate, ...about }: Description): Promise<Team | Absent> {
  try {
    const peer = await start(build(program));
    return {
      ...about,
      ...(rate !== undefined && { rate }),
      version: peer.version,
      enter: async (one) => {
        const asked = line(one);
        return asked.startsWith('no ') ? asked : enter(peer, { ...about, line: asked });
      },
      close: peer.close,
    };
  } catch (error) {
    return { name: about.name, reason: (error as Error).message };
  }
}

type Start = (threads: number, name?: string) => Promise<Team | Absent>;

/** How long a thread of OpenBLAS 0.3 spins before it sleeps: measured 85 ms at 2.8 GHz. */
const OPENBLAS_SPINS = 0.1;

/** OpenBLAS has products only, as have our drivers as the program sees them. */
const products = (one: Case, threads: number): string =>
  one.call.op === 'matmul' ? peerLine(one, threads) : `no ${one.call.op} there`;

export const openblas: Start = (threads, name = 'openblas') =>
  team({
    name,
    program: 'openblas',
    role: 'peer',
    threads,
    lingers: OPENBLAS_SPINS,
    line: (one) => products(one, threads),
  });

/** Our drivers called from C++. */
export const uhopFromC: Start = (threads, name = 'uhop-c++') =>
  team({ name, program: 'uhop', role: 'ours', threads, line: (one) => products(one, threads) });

/** Plain x and result, the reorders it needs of them in the time. */
export const onednn: Start = (threads) =>
  team({
    name: 'onednn',
    program: 'onednn',
    role: 'peer',
    threads,
    line: (one) => (one.call.op === 'relu' ? 'no relu there' : peerLine(one, threads)),
  });

/** x and result in the library's own forms, as within a network that it runs as a whole. */
export const onednnBlocked: Start = (threads) =>
  team({
    name: 'onednn-blocked',
    program: 'onednn',
    role: 'peer',
    threads,
    line: (one) => (one.call.op === 'conv2d' ? peerLine(one, threads, true) : 'no forms of its own for this'),
  });

export const plainC: Start = () =>
  team({
    name: 'plain-c++',
    program: 'plain',
    role: 'floor',
    threads: 1,
    rate: 1e9,
    line: (one) => peerLine(one, 1),
  });

/** Multiply-adds in registers, as many as the case has, but enough of them for the clock. */
export const FMA_FLOPS: number = 2 ** 28;

/** The ceilings measured beside every case that is bound by them. */
export const fma: Start = (threads, name = 'fma') => peak(name, threads, () => `fma ${threads} ${FMA_FLOPS}`);

const boundBy = (bound: 'copy' | 'stream', one: Case, line: string): string =>
  one.bound === 'fma' || (bound === 'stream' && one.bound === 'copy') ? `no case of ${bound}` : line;

/** Half of the bytes read, half written. */
export const copy: Start = (threads) =>
  peak('memcpy', threads, (one) => boundBy('copy', one, `copy ${threads} ${copyLength(one)}`));

export const stream: Start = (threads) =>
  peak('read', threads, (one) => boundBy('stream', one, `stream ${threads} ${one.bytes / 4}`));

/** relu writes what it reads, as memcpy does; what mostly reads is held against a copy of what it reads. */
const copyLength = (one: Case): number => (one.call.op === 'relu' ? one.call.length : one.bytes / 4);

function peak(name: string, threads: number, line: Description['line']): Promise<Team | Absent> {
  return team({ name, program: 'peak', role: 'ceiling', threads, line });
}
