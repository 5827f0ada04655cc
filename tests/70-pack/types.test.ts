import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as uhop from 'uhop';
import * as dhp from 'uhop/dhp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { read, root } from '../support/repository.ts';

const folder = mkdtempSync(join(tmpdir(), 'uhop-types-'));
const program = 'tests/support/consumer.ts';

/** What the compiler says of the program, in the settings of a user who is strict and checks the libraries as well. */
function compiled(file: string, lib: readonly string[]): string {
  const settings = {
    compilerOptions: {
      ...{ module: 'nodenext', target: 'es2022', lib, types: ['node'], noEmit: true },
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
    },
    files: [file],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8', cwd: folder }).stdout;
}

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/uhop'));
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  copyFileSync(join(root, program), join(folder, 'program.ts'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a strict TypeScript program', () => {
  it('may use every public function', () => {
    const text = read(program);
    const names = [
      ...Object.keys(uhop).map((name) => `uhop.${name}`),
      ...Object.keys(dhp).map((name) => `dhp.${name}`),
    ];
    expect(names.length).toBeGreaterThan(40);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  it('compiles', () => expect(compiled('program.ts', ['es2022', 'esnext.disposable'])).toBe(''));

  const wrong = [
    ['uhop.matmulSync(a, a, { transpose: true });', "'transpose' does not exist"],
    ['uhop.reluSync(a, { signal: AbortSignal.abort() });', "'signal' does not exist"],
    ['uhop.tensor(new Int8Array(4), [4]);', "'Int8Array"],
    ["uhop.tensor([1], [1], 'int8');", `'"int8"'`],
    ['uhop.reluSync(a).data = new Float32Array(1);', 'read-only property'],
  ] as const;

  it('that is wrong does not, line by line', () => {
    const lines = [
      "import * as uhop from 'uhop';",
      'const a = uhop.tensor(new Float16Array(1), [1]);',
      ...wrong.map(([line]) => line),
    ];
    writeFileSync(join(folder, 'wrong.ts'), `${lines.join('\n')}\n`);
    const complaints = compiled('wrong.ts', ['es2022', 'es2025.float16']).split(/\n(?=wrong\.ts)/);
    expect(complaints).toEqual(
      wrong.map(([, words], at) => expect.stringMatching(new RegExp(`^wrong\\.ts\\(${at + 3},[^]*${words}`))),
    );
  });
});
