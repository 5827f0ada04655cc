import { describe, expect, it } from 'vitest';
import type { Entry, Row } from '../../bench/results.ts';
import { goals } from '../support/bench.ts';

const entry = (name: string, more: Partial<Entry>): Entry => ({
  ...{ name, role: 'peer', note: '', threads: 1, rounds: 9 },
  ...{ seconds: 1, spread: 0, ratio: 1, ratioSpread: 0, share: null },
  ...more,
});
const row = (label: string, size: number, entries: readonly Entry[]): Row => ({
  ...{ label, flops: 2 * size ** 3, bytes: 1, bound: 'fma', absent: [] },
  entries,
});
const suite = (name: string, ...rows: readonly Row[]) => ({ name, title: name, rows });
const peer = (name: string, ratio: number): Entry => entry(name, { ratio });
const seconds = (name: string, value: number): Entry => entry(name, { seconds: value });

const scaled = (size: number, one: number, share: number): Row =>
  row(`${size}`, size, [peer('uhop-c++ 2t', 1), entry('uhop-c++ 1t', { ratio: one, share })]);

const SUITES = [
  suite('cubes', row('a', 256, [peer('onnxruntime', 1)]), row('b', 512, [peer('onnxruntime', 4)])),
  suite('scaling', scaled(256, 1.2, 0.81), scaled(1024, 1.5, 0.95), scaled(2048, 2, 0.85)),
  suite(
    'skinny',
    row('matmul 1x9 9x9', 9, [entry('uhop', { share: 0.7 }), peer('openblas', 1.2), peer('memcpy', 0.95)]),
    row('matmul 9x9 9x1', 9, [peer('openblas', 0.1)]),
  ),
  suite(
    'overhead',
    row('sync', 8, [seconds('uhop', 4e-6), seconds('empty-call', 5e-7)]),
    row('async', 8, [seconds('uhop', 9e-6), seconds('empty-call', 1e-6)]),
  ),
];

describe('the targets', () => {
  it('are held against what was measured', () => {
    const found = goals(SUITES, 2).filter(({ met }) => met !== null);
    expect(found.map(({ what, measured, met }) => [what, measured, met])).toEqual([
      ['matmul on one thread, share of its multiply-adds, 1024 and above', '0.850', false],
      ['the same at 256', '0.810', true],
      ['matmul cubes, times as fast as onnxruntime, geomean of 2', '2.00', true],
      ['matmul cubes, lowest against onnxruntime', '1.00', true],
      ['matmul of 1 to 8 rows, times as fast as openblas, geomean of 1', '1.20', true],
      ['matmul of 1 to 8 rows, lowest against openblas', '1.20', true],
      ['one row by a matrix against memcpy of the bytes it reads', '0.950', true],
      ['the same, share of the rate of reading', '0.700', false],
      ['matmul from C++, 2 threads over one, 1024 and above', '1.73', false],
      ['matmulSync 8x8 above an empty call', '3.50 µs', false],
      ['matmul 8x8, awaited, above an empty call', '8.00 µs', true],
    ]);
  });

  it('of what was not measured are neither met nor missed', () => {
    expect(goals([], 1).every(({ met, measured }) => met === null && measured === '-')).toBe(true);
  });
});
