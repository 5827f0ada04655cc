import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { projectFiles, root } from '../support/repository.ts';

/** The release whose layout the sources have; others differ in details. */
const RELEASE = 14;

it('the C++ is laid out as .clang-format says', ({ skip }) => {
  const { stdout } = spawnSync('clang-format', ['--version'], { encoding: 'utf8' });
  skip(!stdout?.includes(`version ${RELEASE}.`), `clang-format ${RELEASE} is not installed`);
  const files = projectFiles().filter((path) => /\.(cc|h)$/.test(path));
  expect(files.length).toBeGreaterThan(30);
  const { status, stderr } = spawnSync('clang-format', ['--dry-run', '-Werror', ...files], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
