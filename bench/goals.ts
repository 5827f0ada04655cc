/** The targets of the project held against what a run has measured. */
import type { Entry, Goal, Row, SuiteResult } from './results.ts';
import { significant } from './report.ts';
import { geomean } from './statistics.ts';

type Value = number | undefined;

export function goals(suites: readonly SuiteResult[], threads: number): readonly Goal[] {
  const rows = (...names: readonly string[]): readonly Row[] =>
    suites.filter(({ name }) => names.includes(name)).flatMap((suite) => suite.rows);
  const large = (row: Row): boolean => row.flops >= 2 * 1024 ** 3;
  const [cubes, small, skinny, scaling] = ['cubes', 'small-c++', 'skinny', 'scaling'].map((name) => rows(name));
  const convolutions = rows('resnet50', 'mobilenet');
  const few = skinny!.filter((row) => /^matmul [1-8]x/.test(row.label));
  const single = skinny!.filter((row) => row.label.startsWith('matmul 1x'));
  const all = `uhop-c++ ${threads}t`;
  return [
    atLeast(
      'matmul on one thread, share of its multiply-adds, 1024 and above',
      0.9,
      least(shares(scaling!.filter(large))),
    ),
    atLeast('the same at 256', 0.8, least(shares(scaling!.filter((row) => row.flops === 2 * 256 ** 3)))),
    ...peer('matmul cubes', cubes!, 'onnxruntime', 1.3, 1),
    ...peer('matmul cubes', cubes!, 'openblas', 1, 1),
    ...peer('small matmul from C++', small!, 'openblas', 1, 1),
    ...peer('matmul of 1 to 8 rows', few, 'openblas', 1, 1),
    atLeast('one row by a matrix against memcpy of the bytes it reads', 0.9, least(ratios(single, 'memcpy'))),
    atLeast('the same, share of the rate of reading', 0.9, least(single.map(({ entries }) => entries[0]!.share ?? 0))),
    ...(threads > 1
      ? [
          atLeast(
            `matmul from C++, ${threads} threads over one, 1024 and above`,
            1.85,
            mean(speedups(scaling!.filter(large), all)),
          ),
        ]
      : []),
    ...peer('conv2d', convolutions, 'onnxruntime', 1.3),
    ...peer('conv2d', convolutions, 'onednn', 1.1),
    atLeast('relu against memcpy', 0.95, least(ratios(rows('relu'), 'memcpy'))),
    overhead('matmulSync 8x8 above an empty call', rows('overhead')[0], 3),
    overhead('matmul 8x8, awaited, above an empty call', rows('overhead')[1], 15),
    ...peer('prepared weights', rows('prepack'), 'onnxruntime', 1.3),
  ];
}

const least = (numbers: readonly number[]): Value => (numbers.length > 0 ? Math.min(...numbers) : undefined);
const mean = (numbers: readonly number[]): Value => (numbers.length > 0 ? geomean(numbers) : undefined);

const entryOf = ({ entries }: Row, name: string): Entry | undefined => entries.find((entry) => entry.name === name);

export function ratios(rows: readonly Row[], name: string): readonly number[] {
  return rows.flatMap((row) => entryOf(row, name)?.ratio ?? []);
}

/** Of our drivers on one thread. */
function shares(rows: readonly Row[]): readonly number[] {
  return rows.flatMap((row) => entryOf(row, 'uhop-c++ 1t')?.share ?? []);
}

function speedups(rows: readonly Row[], all: string): readonly number[] {
  return rows.flatMap((row) => {
    const [one, many] = [entryOf(row, 'uhop-c++ 1t'), entryOf(row, all)];
    return one && many ? one.ratio / many.ratio : [];
  });
}

function atLeast(what: string, target: number, value: Value): Goal {
  const measured = value === undefined ? '-' : significant(value);
  return { what, target: `≥ ${target}`, measured, met: value === undefined ? null : value >= target };
}

/** The geometric mean over the rows, and the lowest where that, too, has a target. */
function peer(what: string, rows: readonly Row[], name: string, target: number, lowest?: number): readonly Goal[] {
  const found = ratios(rows, name);
  const goal = atLeast(`${what}, times as fast as ${name}, geomean of ${found.length}`, target, mean(found));
  return lowest === undefined ? [goal] : [goal, atLeast(`${what}, lowest against ${name}`, lowest, least(found))];
}

function overhead(what: string, row: Row | undefined, target: number): Goal {
  const empty = row && entryOf(row, 'empty-call');
  const micros = empty ? (row.entries[0]!.seconds - empty.seconds) * 1e6 : undefined;
  const measured = micros === undefined ? '-' : `${significant(micros)} µs`;
  return { what, target: `≤ ${target} µs`, measured, met: micros === undefined ? null : micros <= target };
}
