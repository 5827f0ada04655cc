import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectFiles, read, root } from '../support/repository.ts';

const cxx = projectFiles().filter((path) => /^(native|kernels)\/.*\.(cc|h|inc)$/.test(path));
const includes = (path: string): string[] =>
  [...read(path).matchAll(/^\s*#\s*include\s+([<"][^>"]+[>"])/gm)].map((match) => match[1] ?? '');

/** The code of a C++ file without comments and string literals, so that a word in prose is no finding. */
const code = (path: string): string =>
  read(path)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\/\/.*$/gm, '')
    .replace(/"(?:[^"\\\n]|\\.)*"/g, '""');

describe('floors of the TypeScript', () => {
  const cruise = (cwd: string) =>
    spawnSync(
      process.execPath,
      [
        join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs'),
        '--config',
        '.dependency-cruiser.cjs',
        'lib',
        'backends',
      ],
      { cwd, encoding: 'utf8' },
    );

  it.each([
    ['backends/naive.ts', "import '../lib/index.ts';", 'backends-know-the-contract'],
    ['backends/contract.ts', "import './naive.ts';", 'contract-imports-nothing'],
    ['lib/dhp/errors.ts', "import '../../backends/contract.ts';", 'dhp-stands-alone'],
    ['lib/ops/relu.ts', "import '../dispatch/index.ts';", 'ops-on-contract'],
    ['lib/dispatch/index.ts', "import '../jobs/index.ts';", 'dispatch-on-ops'],
    ['lib/dispatch/index.ts', "import '../dhp/index.ts';", 'dispatch-on-ops'],
    ['lib/jobs/index.ts', "import '../cli/main.ts';", 'nobody-imports-the-cli'],
  ])('%s may not say %s', (file, line, rule) => {
    const copy = mkdtempSync(join(tmpdir(), 'uhop-floors-'));
    try {
      for (const part of ['lib', 'backends', '.dependency-cruiser.cjs', 'tsconfig.json', 'package.json'])
        cpSync(join(root, part), join(copy, part), { recursive: true });
      symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
      writeFileSync(join(copy, file), `${line}\n${read(file)}`);
      const found = cruise(copy);
      expect(found.status).not.toBe(0);
      expect(found.stdout).toContain(rule);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});

describe('floors of the C++', () => {
  it('finds the sources', () => expect(cxx.length).toBeGreaterThan(5));

  it.each(cxx.filter((path) => path.startsWith('kernels/')))(
    '%s is pure: no allocation, no I/O, no C++ library beyond the integer types',
    (path) => {
      const allowed = /^(<c?std(int|def)(\.h)?>|<\w*mmintrin\.h>|<arm_neon\.h>|"(?!.*native\/)[^"]+")$/;
      expect(includes(path).filter((name) => !allowed.test(name))).toEqual([]);
      expect(code(path)).not.toMatch(/\b(malloc|calloc|realloc|free|new|delete|throw|printf|abort|exit)\b/);
      expect(code(path)).not.toMatch(/\bstd::(?!size_t|ptrdiff_t|u?int\w*_t)\w/);
    },
  );

  it.each(cxx.filter((path) => path.startsWith('native/')))('%s neither prints nor ends the process', (path) => {
    expect(code(path)).not.toMatch(
      /\b(printf|fprintf|puts|fputs|perror|abort|_exit|quick_exit|terminate)\s*\(|\bstd::(cout|cerr|clog)\b|[^.\w>]exit\s*\(/,
    );
  });

  it.each(cxx.filter((path) => path.startsWith('native/')))('%s hands out no external buffer', (path) => {
    expect(code(path)).not.toMatch(/napi_create_external/);
  });
});

describe('the house', () => {
  it('keeps files small enough to be one room', () => {
    const limit = (path: string): number => (/\.(cc|h)$/.test(path) ? 400 : 300);
    const long = projectFiles()
      .filter((path) => /^(lib|backends|native|kernels)\/.*\.(ts|cc|h|mjs)$/.test(path))
      .map((path) => [path, read(path).split('\n').length] as const)
      .filter(([path, lines]) => lines > limit(path));
    expect(long).toEqual([]);
  });

  it('tracks no build output', () => {
    const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
    expect(tracked.filter((path) => /^(dist|build|node_modules)\/|\.(node|tgz|o|tsbuildinfo)$/.test(path))).toEqual([]);
  });
});
