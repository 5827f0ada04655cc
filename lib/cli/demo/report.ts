import { bytes, duration } from '../format.ts';
import { table } from '../table.ts';
import type { Edges } from './edges.ts';
import type { Recognition } from './neighbours.ts';
import type { InterruptedRun, PlainRun, Share } from './runs.ts';

/** One thing the demo proves, or not. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
}

/** The two runs side by side. */
export function runsTable(interrupted: InterruptedRun, plain: PlainRun): string {
  const row = (name: string, share: Share): string[] => [
    name,
    String(share.pid),
    String(share.computed),
    String(share.reused),
    String(share.redone),
    duration(share.seconds),
  ];
  const right = (title: string): { readonly title: string; readonly align: 'right' } => ({ title, align: 'right' });
  return table(
    [{ title: 'worker' }, right('pid'), right('computed'), right('reused'), right('redone'), right('time')],
    [
      row('first, killed', interrupted.first),
      row('second, took over', interrupted.second),
      row('undisturbed run', plain.worker),
    ],
  );
}

/** One line on the comparison of the two outputs. */
export function bytesLine(plain: PlainRun, same: boolean): string {
  const verdict = same ? 'identical, byte for byte' : 'DIFFERENT';
  return `${bytes(plain.result.bytes)} of output, sha256 ${plain.result.sha256.slice(0, 16)}…, both runs: ${verdict}`;
}

export function recognitionLine({ train, tested, right, accuracy }: Recognition): string {
  return `${right} of ${tested} held-out images recognised by their nearest of ${train}: ${(100 * accuracy).toFixed(1)} %`;
}

export function edgesLine(edges: Edges): string {
  return (
    `${edges.filters.length} filters over ${edges.images} images by ${edges.path} in ${duration(edges.ms / 1000)}; ` +
    `largest difference to plain loops ${edges.largestDifference.toExponential(1)}`
  );
}

/** The checks, one a line. */
export function checksBlock(checks: readonly Check[], style: (ok: boolean, text: string) => string): string {
  return checks.map(({ name, ok }) => `${style(ok, ok ? 'ok  ' : 'FAIL')}  ${name}`).join('\n');
}
