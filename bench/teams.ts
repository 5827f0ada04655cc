/** Every contender by its name, started when a suite first asks for it. */
import { type Absent, isAbsent, type Team } from './contenders/contender.ts';
import { emptyCall } from './contenders/empty.ts';
import { onnxruntime } from './contenders/onnxruntime.ts';
import { ours } from './contenders/ours.ts';
import { plainJs } from './contenders/plain.ts';
import * as programs from './contenders/programs.ts';
import { stdlib } from './contenders/stdlib.ts';
import { tfjs } from './contenders/tfjs.ts';

type Start = (threads: number, name?: string) => Promise<Team | Absent>;
const STARTS: Readonly<Record<string, Start>> = {
  uhop: ours,
  'uhop-c++': programs.uhopFromC,
  onnxruntime,
  openblas: programs.openblas,
  onednn: programs.onednn,
  'onednn-blocked': programs.onednnBlocked,
  'tfjs-wasm': tfjs,
  'stdlib-blas': stdlib,
  'plain-c++': programs.plainC,
  'plain-js': plainJs,
  'empty-call': emptyCall,
  fma: programs.fma,
  memcpy: programs.copy,
  read: programs.stream,
};

export class Teams {
  readonly #threads: number;
  readonly #started = new Map<string, Promise<Team | Absent>>();

  constructor(threads: number) {
    this.#threads = threads;
  }

  /** `openblas` takes all threads of the run, `openblas 1t` that many. */
  get(name: string): Promise<Team | Absent> {
    let team = this.#started.get(name);
    if (!team) this.#started.set(name, (team = this.#start(name)));
    return team;
  }

  #start(name: string): Promise<Team | Absent> {
    const [, known = name, threads] = /^(.*) (\d+)t$/.exec(name) ?? [];
    return STARTS[known]!(threads === undefined ? this.#threads : Number(threads), name);
  }

  start(names: readonly string[]): Promise<readonly (Team | Absent)[]> {
    return Promise.all([...new Set(names)].map((name) => this.get(name)));
  }

  async close(): Promise<void> {
    for (const started of this.#started.values()) {
      const team = await started;
      if (!isAbsent(team)) await team.close();
    }
  }
}
