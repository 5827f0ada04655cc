/**
 * The README's picture, drawn from the results: for every suite how many times as fast as each peer, the geometric mean
 * as a bar, the lowest and highest row as a line across its end. Colours come from the reader's light or dark scheme.
 */
import { ratios } from './goals.ts';
import type { Results, SuiteResult } from './results.ts';
import { geomean } from './statistics.ts';

const PEERS = ['onnxruntime', 'openblas', 'onednn'] as const;
const PEER_NAMES = { onnxruntime: 'ONNX Runtime', openblas: 'OpenBLAS', onednn: 'oneDNN' } as const;
const NOT_DRAWN = ['overhead', 'relu', 'scaling'];

interface Bar {
  readonly peer: (typeof PEERS)[number];
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** What is beyond is drawn up to here; its number tells. */
const MOST = 5;

const WIDTH = 860;
const LEFT = 130;
const RIGHT = 80;
const TOP = 76;
const BAR = 13;
const GAP = 12;

const STYLE = `
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .small { font-size: 11px; fill: #59636e }
  .title { font-size: 16px; font-weight: 600 }
  .grid { stroke: #d1d9e0 } .even { stroke: #59636e; stroke-width: 1.5 } .range { stroke: #1f2328; stroke-width: 1.2 }
  .onnxruntime { fill: #0969da } .openblas { fill: #1a7f37 } .onednn { fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 } .grid { stroke: #3d444d } .even { stroke: #9198a1 }
    .range { stroke: #f0f6fc } .onnxruntime { fill: #4493f8 } .openblas { fill: #3fb950 } .onednn { fill: #db6d28 }
  }`;

export function picture(results: Results): string {
  const groups = results.suites.map((suite) => ({ suite, bars: barsOf(suite) })).filter(({ bars }) => bars.length > 0);
  const most = Math.max(2, ...groups.flatMap(({ bars }) => bars.map(({ high }) => high)));
  const limit = Math.min(Math.ceil(most), MOST);
  const x = (ratio: number): number => LEFT + (Math.min(ratio, limit) / limit) * (WIDTH - LEFT - RIGHT);
  const parts: string[] = [];
  let y = TOP;
  for (const { suite, bars } of groups) {
    const height = bars.length * (BAR + 2);
    parts.push(text(LEFT - 10, y + height / 2 + 4, suite.name, 'text-anchor="end"'));
    for (const bar of bars) {
      parts.push(drawn(bar, x, y));
      y += BAR + 2;
    }
    y += GAP;
  }
  const ticks = Array.from({ length: limit + 1 }, (_, ratio) => tick(ratio, x(ratio), y));
  const [even] = ticks.splice(1, 1);
  const height = y + 34;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">`,
    `<title>How many times as fast as each peer, by suite</title>`,
    `<style>${STYLE}\n</style>`,
    text(16, 26, 'Times as fast as', 'class="title"'),
    legend(),
    text(16, 62, `${escaped(caption(results))}`, 'class="small"'),
    ...ticks,
    ...parts,
    even!,
    text(LEFT, height - 6, 'bar: geometric mean of the rows; line: lowest to highest row', 'class="small"'),
    '</svg>\n',
  ].join('\n');
}

function barsOf(suite: SuiteResult): readonly Bar[] {
  if (NOT_DRAWN.includes(suite.name)) return [];
  return PEERS.flatMap((peer) => {
    const found = ratios(suite.rows, peer);
    if (found.length === 0) return [];
    return { peer, mean: geomean(found), low: Math.min(...found), high: Math.max(...found) };
  });
}

function drawn({ peer, mean, low, high }: Bar, x: (ratio: number) => number, y: number): string {
  const middle = y + BAR / 2;
  const bar = `<rect class="${peer}" x="${x(0)}" y="${y}" width="${round(x(mean) - x(0))}" height="${BAR}" rx="2"/>`;
  const range = `<path class="range" d="M${round(x(low))} ${middle}H${round(x(high))}"/>`;
  const label = text(WIDTH - 16, y + BAR - 2, mean.toFixed(2), 'text-anchor="end"');
  return bar + range + label;
}

function tick(ratio: number, at: number, bottom: number): string {
  const line = `<path class="${ratio === 1 ? 'even' : 'grid'}" d="M${round(at)} ${TOP - 6}V${bottom - 4}"/>`;
  return line + text(round(at), bottom + 10, `${ratio}×`, 'class="small" text-anchor="middle"');
}

function legend(): string {
  return PEERS.map((peer, at) => {
    const x = 160 + at * 130;
    const patch = `<rect class="${peer}" x="${x}" y="14" width="${BAR}" height="${BAR}" rx="2"/>`;
    return patch + text(x + 19, 25, PEER_NAMES[peer]);
  }).join('');
}

function caption({ machine, threads, versions, date }: Results): string {
  const peers = PEERS.flatMap((peer) =>
    versions[peer] ? `${PEER_NAMES[peer]} ${/\d+(\.\d+)+/.exec(versions[peer])?.[0]}` : [],
  );
  const count = `${threads} ${threads === 1 ? 'thread' : 'threads'}`;
  return [machine.cpu, count, `f32`, ...peers, `Node ${machine.node}`, date.slice(0, 10)].join(' · ');
}

const text = (x: number, y: number, words: string, attributes = ''): string =>
  `<text x="${x}" y="${y}" ${attributes}>${words}</text>`;
const round = (value: number): number => Math.round(value * 10) / 10;
const escaped = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
