import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { folder, lines, uhop } from './cli.ts';

const COMMANDS = [
  'devices',
  'explain',
  'doctor',
  'build',
  'job run',
  'job submit',
  'job status',
  'job list',
  'job result',
  'job cancel',
  'job dlq',
  'job requeue',
  'worker',
  'supervisor',
  'dhp conform',
  'demo',
];

describe('help', () => {
  test.each(COMMANDS)('uhop %s --help explains itself with examples', async (command) => {
    const { code, stdout, stderr } = await uhop([...command.split(' '), '--help']);
    expect(stderr).toBe('');
    expect(stdout).toContain(`Usage: uhop ${command}`);
    expect(stdout).toMatch(new RegExp(`Examples:\\n.*uhop ${command}`, 's'));
    expect(stdout).toContain('--json');
    expect(code).toBe(0);
  });

  test('lists every subcommand and the exit codes', async () => {
    const { code, stdout } = await uhop(['--help']);
    for (const command of COMMANDS) expect(stdout).toContain(`  ${command.split(' ')[0]} `);
    expect(stdout).toContain('130 interrupted');
    expect(code).toBe(0);
  });

  test('`help job run` is `job run --help`', async () => {
    const [one, other] = await Promise.all([uhop(['job', 'help', 'run']), uhop(['job', 'run', '--help'])]);
    expect(one.stdout).toBe(other.stdout);
  });

  test('--version is the package’s', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    expect(await uhop(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('usage errors end with 2', () => {
  test('an unknown command, with the one that was meant', async () => {
    const { code, stdout, stderr } = await uhop(['devcies']);
    expect(stderr).toContain("unknown command 'devcies'");
    expect(stderr).toContain('Did you mean devices?');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test.each([
    [['job', 'rum', 'spec.json'], 'Did you mean run?'],
    [['job', 'run'], "missing required argument 'spec.json'"],
    [['job', 'list', '--sate', 'dead'], 'Did you mean --state?'],
    [['job', 'list', '--state', 'ded'], 'Allowed choices are'],
    [['job', 'requeue', 'h1_0', '--attempts', '0'], 'a whole number of at least 1'],
    [['worker', '--kinds', 'matmul,fft'], "'fft' is not one of"],
    [['explain', 'matmul', '3xq', '4x5'], "'3xq' is not a shape"],
    [[], 'Usage: uhop'],
    [['job'], 'Usage: uhop job'],
  ])('uhop %j', async (args, words) => {
    const { code, stdout, stderr } = await uhop(args);
    expect(stderr).toContain(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('under --json the error is a document on stdout as well', async () => {
    const { code, stdout } = await uhop(['job', 'run', '--json']);
    expect(lines(stdout)).toMatchObject([{ error: { code: 'E_USAGE' } }]);
    expect(code).toBe(2);
  });
});

describe('errors', () => {
  test('are a sentence, a hint and a code; the stack only on demand', async () => {
    await using place = await folder();
    const args = ['job', 'list', '--store', 'nowhere'];
    const quiet = await uhop(args, { cwd: place.path });
    expect(quiet.stderr).toMatch(/^error: there is no store at nowhere \[E_USAGE\]\nhint: .*\n$/);
    for (const loud of [
      await uhop([...args, '--verbose'], { cwd: place.path }),
      await uhop(args, { cwd: place.path, env: { UHOP_DEBUG: '1' } }),
    ]) {
      expect(loud.stderr).toContain('    at ');
    }
  });

  test('a reader that goes away early is no error', async () => {
    const { spawnSync } = await import('node:child_process');
    const main = 'dist/lib/cli/main.js';
    const { stdout, stderr } = spawnSync('sh', [
      '-c',
      `node ${main} devices --json | true; node ${main} --help | true`,
    ]);
    expect({ stdout: String(stdout), stderr: String(stderr) }).toEqual({ stdout: '', stderr: '' });
  });
});
