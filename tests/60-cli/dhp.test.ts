import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder, uhop } from './cli.ts';

interface Report {
  readonly store: string;
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly { readonly name: string; readonly ok: boolean }[];
}

describe('uhop dhp conform', () => {
  test('runs every case on a SQLite store of its own, and removes it', async () => {
    const { code, stdout, stderr } = await uhop(['dhp', 'conform', '--json']);
    const report = JSON.parse(stdout) as Report;
    expect(report.cases.length).toBeGreaterThan(50);
    expect(report).toMatchObject({ passed: report.cases.length, failed: 0 });
    await expect(access(report.store)).rejects.toThrow('ENOENT');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('runs on the memory store, a line for each case', async () => {
    const { code, stdout } = await uhop(['dhp', 'conform', 'memory:']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.at(-1)).toBe(`${lines.length - 1} passed, 0 failed`);
    expect(lines.slice(0, -1).every((line) => line.startsWith('ok '))).toBe(true);
    expect(code).toBe(0);
  });

  test('fills a store that is named, but none that is there already', async () => {
    await using place = await folder();
    const store = join(place.path, 'new');
    expect((await uhop(['dhp', 'conform', store])).code).toBe(0);
    const again = await uhop(['dhp', 'conform', store]);
    expect(again.stderr).toContain(`${store} exists already`);
    expect(again.code).toBe(2);
  });

  test('what is no store is an error', async () => {
    const { code, stderr } = await uhop(['dhp', 'conform', 'gopher://somewhere']);
    expect(stderr).toContain('gopher');
    expect(code).not.toBe(0);
  });
});
