import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
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

const TRESPASSES = [
  ['backends/naive.ts', '../lib/index.ts', 'backends-know-the-contract'],
  ['backends/contract.ts', './naive.ts', 'contract-imports-nothing'],
  ['lib/dhp/errors.ts', '../../backends/contract.ts', 'dhp-stands-alone'],
  ['lib/ops/relu.ts', '../dispatch/index.ts', 'ops-on-contract'],
  ['lib/dispatch/index.ts', '../jobs/index.ts', 'dispatch-on-ops'],
  ['lib/dispatch/ops.ts', '../dhp/index.ts', 'dispatch-on-ops'],
  ['lib/jobs/index.ts', '../cli/main.ts', 'nobody-imports-the-cli'],
  ['lib/jobs/plan.ts', 'vitest', 'no-dev-in-product'],
  ['lib/dhp/errors.ts', './index.ts', 'no-circles'],
] as const;

describe('floors of the TypeScript', () => {
  /** All trespasses at once, in a copy of the house. */
  const found = (): { from: string; to: string; rule: { name: string } }[] => {
    const copy = mkdtempSync(join(tmpdir(), 'uhop-floors-'));
    try {
      for (const part of ['lib', 'backends', '.dependency-cruiser.cjs', 'tsconfig.json', 'package.json'])
        cpSync(join(root, part), join(copy, part), { recursive: true });
      symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
      for (const [file, target] of TRESPASSES) {
        writeFileSync(join(copy, file), `import '${target}';\n${readFileSync(join(copy, file), 'utf8')}`);
      }
      const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
      const args = [cruiser, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'lib', 'backends'];
      const { stdout } = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', maxBuffer: 1 << 28 });
      return JSON.parse(stdout).summary.violations;
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  };
  let violations: ReturnType<typeof found>;
  beforeAll(() => {
    violations = found();
  });

  it.each(TRESPASSES)('%s may not import %s: %s', (file, _target, rule) => {
    expect(violations.filter((violation) => violation.from === file).map((violation) => violation.rule.name)).toContain(
      rule,
    );
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
