import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Contender, Turn } from '../../bench/contenders/contender.ts';
import { cases, checks, measuring, programs, results, shapes } from '../support/bench.ts';

const product = cases.caseOf(shapes.parseShapes('matmul 2x3 3x4', 'tiny')[0]!);

/** Takes so many seconds in every turn, and writes down when it does. */
function contender(name: string, seconds: number, more: Partial<Contender> = {}, log: string[] = []): Contender {
  return {
    ...{ name, role: 'peer', note: '', threads: 1 },
    sample: async () => Float32Array.of(1, 2, 3),
    turn: async () => (log.push(name), seconds),
    close: async () => {},
    ...more,
  };
}

describe('numbers of a contender', () => {
  it.each([
    ['one differs', [1, 2, 3.001], 'number 2 of those looked at is 3.001, ours 3'],
    ['one is not a number', [1, Number.NaN, 3], 'number 1 of those looked at is NaN, ours 2'],
    ['some are missing', [1, 2], '2 numbers instead of 3'],
  ])('are refused when %s', async (_, numbers, found) => {
    expect(checks.difference(product, [1, 2, 3], numbers)).toBe(found);
    const wrong = contender('wrong', 1, { sample: async () => numbers });
    const refused = checks.check(product, [contender('ours', 1), wrong]);
    await expect(refused).rejects.toThrow(`matmul 2x3 3x4: wrong computes something else: ${found}`);
  });

  it('may differ as much as another order of summing makes them', () => {
    expect(checks.difference(product, [1, 2, 3], [1 + 2 ** -24, 2, 3])).toBeUndefined();
    expect(checks.difference(product, [Number.NaN], [Number.NaN])).toMatch(/NaN/);
  });

  it('are asked of everyone who computes', async () => {
    const silent = contender('silent', 1, { sample: async () => null });
    await expect(checks.check(product, [contender('ours', 1), silent])).rejects.toThrow('silent shows no result');
    await checks.check(product, [contender('ours', 1), { ...silent, role: 'ceiling' }]);
  });
});

describe('turns', () => {
  const pace = { pause: 0, warm: 0, timed: 0, rounds: 5 } satisfies Turn & { pause: number; rounds: number };

  it('go round, each time beginning with another, after two that do not count', async () => {
    const log: string[] = [];
    const three = ['a', 'b', 'c'].map((name) => contender(name, 0.001, {}, log));
    const times = await measuring.interleave(three, pace);
    expect(log.join('')).toBe(`aabbcc${'abcbcacab'}${'abcbca'}`);
    expect(times.map(({ seconds }) => seconds.length)).toEqual([5, 5, 5]);
  });

  it('wait until the threads of the one before have stopped spinning', async () => {
    const over = new Map<string, number>();
    const waits: number[] = [];
    const one = (name: string, before: string, more: object) => {
      const turn = async (): Promise<number> => {
        if (over.has(before)) waits.push(performance.now() - over.get(before)!);
        over.clear();
        over.set(name, performance.now());
        return 0.001;
      };
      return contender(name, 0.001, { turn, ...more });
    };
    await measuring.interleave([one('spins', 'quiet', { threads: 2, lingers: 0.03 }), one('quiet', 'spins', {})], pace);
    expect(waits.length).toBeGreaterThan(0);
    // A timer may fire a millisecond early by the other clock.
    expect(Math.max(...waits)).toBeGreaterThan(28);
  });

  it('of a floor with long calls are few', async () => {
    const floor = contender('floor', 0.5, { role: 'floor' });
    const [ours, slow] = await measuring.interleave([contender('ours', 0.1), floor], pace);
    expect([ours!.seconds.length, slow!.seconds.length]).toEqual([5, 3]);
  });

  it('become medians, ratios of the same round and shares of the ceiling on as many threads', () => {
    const entered = [
      { contender: contender('ours', 1, { role: 'ours' }), seconds: [2, 4, 8] },
      { contender: contender('peer', 1), seconds: [6, 4, 16] },
      { contender: contender('fma', 1, { role: 'ceiling' }), seconds: [1, 2, 2] },
      { contender: contender('fma 2t', 1, { role: 'ceiling', threads: 2 }), seconds: [1, 1, 1] },
    ];
    const { entries } = results.rowOf(product, entered, [], product.flops * 2);
    expect(entries.map(({ seconds }) => seconds)).toEqual([4, 6, 2, 1]);
    expect(entries.map(({ ratio }) => ratio)).toEqual([1, 2, 0.5, 0.25]);
    expect(entries.map(({ share }) => share)).toEqual([0.25, 1 / 6, null, null]);
    expect(entries[0]!.spread).toBeCloseTo(1.5 / 4);
  });
});

describe('a program of the peers that cannot be built', () => {
  const folder = mkdtempSync(join(tmpdir(), 'uhop-peers-'));
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['without a compiler', undefined, '/nowhere/c++ does not run (needs apt install libopenblas-dev)'],
    [
      'without its headers',
      'x.cc:2:10: fatal error: cblas.h: No such file or directory',
      'it does not compile: cblas.h: No such file or directory (needs apt install libopenblas-dev)',
    ],
    [
      'without its library',
      '/usr/bin/ld: cannot find -lopenblas: No such file or directory',
      'it does not compile: cannot find -lopenblas: No such file or directory (needs apt install libopenblas-dev)',
    ],
  ])('%s says so, and what would help', (_, complaint, reason) => {
    const compiler = join(folder, 'c++');
    writeFileSync(compiler, `#!/bin/sh\necho '${complaint}' >&2\nexit 1\n`, { mode: 0o755 });
    vi.stubEnv('CXX', complaint === undefined ? '/nowhere/c++' : compiler);
    expect(() => programs.build('openblas', join(folder, 'out'))).toThrow(reason);
    rmSync(compiler);
  });
});
