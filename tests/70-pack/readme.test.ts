import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { read, root } from '../support/repository.ts';

const readme = read('README.md');
const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
const folder = mkdtempSync(join(tmpdir(), 'uhop-readme-'));

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/uhop'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a `console.log(…)` line promises in its comment: the words in quotes and the numbers. */
const promises = (example: string): string[] =>
  [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].flatMap((match) => {
    const said = (match[1] ?? '').replace(/, e\.g\..*$/, '');
    return /^[a-z, ]+:/.test(said)
      ? []
      : [...said.matchAll(/'([^']+)'|\b(\d+(?:\.\d+)?)\b(?!\])/g)].map((found) => found[1] ?? found[2] ?? '');
  });

describe('the examples of the README', () => {
  it('are there', () => expect(examples.length).toBeGreaterThanOrEqual(4));

  it.each(examples.map((example, index) => [index + 1, example] as const))(
    'number %i runs and prints what it says',
    (index, example) => {
      const file = join(folder, `example-${index}.js`);
      writeFileSync(file, example);
      const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
        cwd: folder,
        encoding: 'utf8',
        timeout: 60_000,
      });
      expect(status, stderr).toBe(0);
      expect(stderr).toBe('');
      for (const promise of promises(example)) expect(stdout).toContain(promise);
    },
  );
});

describe('the README', () => {
  it('names only commands that exist', () => {
    const { stdout } = spawnSync(process.execPath, [join(root, 'dist/lib/cli/main.js'), '--help'], {
      encoding: 'utf8',
    });
    const named = new Set([...readme.matchAll(/(?:`|^)(?:npx )?uhop ([a-z]+)/gm)].map((match) => match[1] ?? ''));
    expect(named.size).toBeGreaterThan(4);
    for (const command of named) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
  });

  it('names the scripts and files that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const match of readme.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(match[1]);
    for (const match of readme.matchAll(/\]\((?!http)([^)]+)\)/g)) expect(read(match[1] ?? '')).not.toBe('');
    expect(read('.ci/run')).toContain('.ci/setup && npm test');
  });
});
