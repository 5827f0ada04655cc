import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const addon = fileURLToPath(new URL('../../build/Release/uhop.node', import.meta.url));
const objects = fileURLToPath(new URL('../../build/CMakeFiles', import.meta.url));
const sources = readdirSync(fileURLToPath(new URL('../../kernels/cpu', import.meta.url))).filter((name) =>
  name.endsWith('.cc'),
);
const hasObjdump = spawnSync('objdump', ['--version']).status === 0;
const relevant = process.arch === 'x64' && hasObjdump;
if (!relevant) console.log(`skipped: ${process.arch === 'x64' ? 'objdump is not installed' : 'not an x86-64 machine'}`);

const WIDE = /%[yz]mm\d|\bv[a-z0-9]+ .*%xmm|\{%k\d/;

/** Object files of a target whose code uses AVX registers or encodings. */
function wideObjects(target: string): { wide: string[]; narrow: string[] } {
  const folder = join(objects, `${target}.dir`);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.o'));
  const isWide = (name: string): boolean => {
    const { stdout } = spawnSync('objdump', ['-d', '--no-show-raw-insn', join(folder, name)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    return WIDE.test(stdout);
  };
  return { wide: files.filter(isWide), narrow: files.filter((name) => !isWide(name)) };
}

describe.runIf(relevant)('AVX instructions', () => {
  it.each(['uhop', 'kernels_baseline'])('are nowhere in %s', (target) => {
    const { wide, narrow } = wideObjects(target);
    expect(wide).toEqual([]);
    expect(narrow.length).toBeGreaterThanOrEqual(4);
  });

  it.each(['kernels_avx2', 'kernels_avx512'])('are in every object of %s', (target) => {
    const { wide, narrow } = wideObjects(target);
    expect(narrow).toEqual([]);
    expect(wide).toHaveLength(sources.length);
  });

  it.each(['kernels_avx2', 'kernels_avx512'])('of %s are behind symbols of its own only', (target) => {
    const folder = join(objects, `${target}.dir`);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.o'));
    const { stdout } = spawnSync('nm', ['-C', '--defined-only', '-g', ...files.map((name) => join(folder, name))], {
      encoding: 'utf8',
    });
    const symbols = stdout.split('\n').filter((line) => / [A-Za-z] /.test(line));
    const isa = target.slice('kernels_'.length);
    expect(symbols.filter((line) => !line.includes(`__${isa}`))).toEqual([]);
    expect(symbols.length).toBeGreaterThan(0);
  });
});

const elf = process.platform === 'linux' && spawnSync('nm', ['--version']).status === 0;
if (!elf) console.log('skipped: no nm, or no ELF file, to read the symbols of');

describe.runIf(elf)('the addon', () => {
  const { stdout } = spawnSync('nm', ['-D', '-C', '--undefined-only', addon], { encoding: 'utf8' });
  const imported = stdout.split('\n').flatMap((line) => / U ([^@]+)/.exec(line)?.[1] ?? []);

  it('takes from Node what is stable across its versions, and no buffer of foreign memory', () => {
    expect(imported.filter((name) => name.startsWith('napi_')).length).toBeGreaterThan(10);
    expect(imported.filter((name) => /^(v8|node)::|^(uv|node_api)_|_external/.test(name))).toEqual([]);
  });

  it('cannot end the process or print', () => {
    expect(
      imported.filter((name) => /^(exit|_exit|abort|printf|puts|fwrite|write|napi_fatal_error)$/.test(name)),
    ).toEqual([]);
  });
});
