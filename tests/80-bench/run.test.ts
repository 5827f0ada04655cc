import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Results } from '../../bench/results.ts';
import { bench, pictures } from '../support/bench.ts';

const folder = mkdtempSync(join(tmpdir(), 'uhop-bench-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('npm run bench', () => {
  it('prints a table, who is missing and the targets', () => {
    const { status, stdout, stderr } = bench(['--quick', '--suite', 'small', '--suite', 'prepack']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^ {2}(tfjs-wasm: not installed \(npm install --no-save @tensorflow\/tfjs |tfjs-wasm: \d)/m);
    expect(stdout).toMatch(/^small: .*\n +uhop +Gop\/s +of peak +.*plain-js$/m);
    for (const size of [16, 32, 64, 128]) {
      const row = new RegExp(`^matmul ${size}x${size} ${size}x${size} +\\S+ .s ±\\d+% .*x ±\\d+% {2}cpu:gemm-`, 'm');
      expect(stdout).toMatch(row);
    }
    expect(stdout).toContain('against the targets');
  });

  it('gives one JSON document instead, and writes it with its picture where it is told to', () => {
    const { status, stdout, stderr } = bench([
      '--json',
      '--quick',
      '--suite',
      'overhead',
      '--threads',
      '1',
      '--out',
      folder,
    ]);
    expect(status, stderr).toBe(0);
    const document = JSON.parse(stdout) as Results;
    expect(document).toMatchObject({ format: 'uhop-bench/1', quick: true, threads: 1, rounds: 3 });
    expect(Date.parse(document.date)).toBeGreaterThan(0);
    expect(document.machine).toMatchObject({ node: process.version, arch: process.arch });
    expect(document.versions).toHaveProperty('uhop');
    expect(document.suites.map(({ name }) => name)).toEqual(['overhead']);
    const [sync, async] = document.suites[0]!.rows;
    expect([sync!.label, async!.label]).toEqual(['matmul 8x8 8x8', 'matmul 8x8 8x8 async']);
    for (const { entries } of [sync!, async!]) {
      expect(entries[0]).toMatchObject({ name: 'uhop', role: 'ours', threads: 1, rounds: 3, ratio: 1 });
      expect(entries[0]!.note).toMatch(/^cpu:gemm-/);
      for (const one of entries) expect([one.seconds > 0, one.spread >= 0, one.ratio > 0]).toEqual([true, true, true]);
    }
    expect(document.goals.find(({ what }) => what.startsWith('matmulSync 8x8'))).toMatchObject({ target: '≤ 3 µs' });
    const [json, svg] = readdirSync(folder).toSorted();
    expect(json).toMatch(/-1t-quick\.json$/);
    expect(svg).toBe(json!.replace('.json', '.svg'));
    expect(JSON.parse(readFileSync(join(folder, json!), 'utf8'))).toEqual(document);
    expect(existsSync(join(folder, svg!))).toBe(true);
  });

  it.each([
    [['--suite', 'nothing'], /--suite nothing: there are cubes, small, /],
    [['--threads', 'many'], /UHOP_THREADS is 'many'/],
    [['--fast'], /Unknown option '--fast'/],
  ])('refuses %j', (args, reason) => {
    const { status, stdout, stderr } = bench(args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(reason);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('the picture', () => {
  const entry = {
    role: 'peer',
    note: '',
    threads: 2,
    rounds: 9,
    seconds: 1,
    spread: 0,
    ratioSpread: 0,
    share: 0.5,
  } as const;
  const row = (ratios: Readonly<Record<string, number>>) => ({
    ...{ label: 'matmul', flops: 1, bytes: 1, bound: 'fma', absent: [] },
    entries: Object.entries({ uhop: 1, ...ratios }).map(([name, ratio]) => ({ ...entry, name, ratio })),
  });
  const document = {
    ...{
      format: 'uhop-bench/1',
      date: '2030-01-02T00:00:00Z',
      quick: false,
      threads: 2,
      rounds: 9,
      goals: [],
      absent: [],
    },
    machine: { cpu: 'A & B <fast>', arch: 'x64', processors: 2, isas: [], memoryBytes: 1, os: '', node: 'v1' },
    versions: { onnxruntime: '1.2.3', openblas: 'OpenBLAS 0.3.21 more' },
    suites: [
      {
        name: 'cubes',
        title: '',
        rows: [row({ onnxruntime: 2, openblas: 0.5 }), row({ onnxruntime: 8, openblas: 0.5 })],
      },
      { name: 'prepack', title: '', skipped: 'not there', rows: [] },
    ],
  } as unknown as Results;

  it('is well-formed and shows the geometric means', () => {
    const svg = pictures.picture(document);
    expect(unbalanced(svg)).toBe('');
    expect(svg).toContain('>4.00</text>');
    expect(svg).toContain('>0.50</text>');
    expect(svg).toContain('>cubes</text>');
    expect(svg).not.toContain('prepack');
    expect(svg).toContain(
      'A &amp; B &lt;fast> · 2 threads · f32 · ONNX Runtime 1.2.3 · OpenBLAS 0.3.21 · Node v1 · 2030-01-02',
    );
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('can be of nothing', () => {
    const svg = pictures.picture({ ...document, suites: [] });
    expect(unbalanced(svg)).toBe('');
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });
});

/** What is wrong with a document of elements, attributes in double quotes, text and the five entities. */
function unbalanced(xml: string): string {
  const open: string[] = [];
  const token = /<(\/?)([a-z]+)((?: [\w:-]+="[^"<&]*")*) ?(\/?)>|[^<&]+|&(?:amp|lt|gt|quot|apos);/gy;
  for (let at = 0; at < xml.length; at = token.lastIndex) {
    const [whole, end, name, , single] = token.exec(xml) ?? [];
    if (whole === undefined) return `not understood: ${xml.slice(at, at + 40)}`;
    if (name === undefined || single) continue;
    if (!end) open.push(name);
    else if (open.pop() !== name) return `</${name}> closes nothing`;
  }
  return open.length > 0 ? `<${open.at(-1)}> is never closed` : '';
}
