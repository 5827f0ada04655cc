import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { folder, lines, matmulJob, Running, uhop } from './cli.ts';

/** Plain loops need some 50 ms for a tile of this size, time enough for a signal to fall into one. */
const SLOW = { tiles: 10, rows: 128, k: 512, columns: 512 };
const NAIVE = ['--backend', 'naive', '--json'];

const sha256 = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

describe('uhop job run', () => {
  test('computes the output, and prints its result on stdout', async () => {
    await using place = await folder();
    const spec = await matmulJob(place.path);
    const { code, stdout, stderr } = await uhop(['job', 'run', spec], { cwd: place.path });
    const output = join(place.path, 'c.npy');
    expect(stdout).toContain(`output  ${output}`);
    expect(stdout).toContain(`sha256  ${await sha256(output)}`);
    expect(stderr).toContain('8 tiles');
    expect(code).toBe(0);
  });

  test('under --json every line of stdout is an event, and stderr is silent', async () => {
    await using place = await folder();
    const { code, stdout, stderr } = await uhop(['job', 'run', await matmulJob(place.path), '--json'], {
      cwd: place.path,
    });
    const events = lines(stdout);
    expect(events.filter(({ type }) => type === 'tile')).toHaveLength(8);
    expect(events[0]).toMatchObject({ type: 'started', tiles: 8, reused: 0 });
    expect(events.at(-1)).toMatchObject({ type: 'completed', result: { output: join(place.path, 'c.npy') } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('paths of a spec are relative to its file, whatever the working directory', async () => {
    await using place = await folder();
    await using elsewhere = await folder();
    const spec = await matmulJob(place.path);
    const { code } = await uhop(['job', 'run', spec], { cwd: elsewhere.path });
    expect(code).toBe(0);
    expect(await readFile(join(place.path, 'c.npy'))).toBeInstanceOf(Buffer);
  });

  test('killed with SIGKILL in mid-tile, the same command reuses the tiles and gives the same bytes', async () => {
    await using place = await folder();
    await using undisturbed = await folder();
    const spec = await matmulJob(place.path, SLOW);
    await using victim = new Running(['job', 'run', spec, ...NAIVE], { cwd: place.path });
    await victim.hear(({ type, done }) => type === 'tile' && Number(done) >= 3);
    expect((await victim.kill('SIGKILL')).signal).toBe('SIGKILL');

    const again = lines((await uhop(['job', 'run', spec, ...NAIVE], { cwd: place.path })).stdout);
    const [started] = again;
    expect(started).toMatchObject({ type: 'started', tiles: 10 });
    expect(started?.['reused']).toBeGreaterThanOrEqual(3);
    expect(again.filter(({ type }) => type === 'tile')).toHaveLength(10 - Number(started?.['reused']));

    const other = await matmulJob(undisturbed.path, SLOW);
    expect((await uhop(['job', 'run', other, ...NAIVE], { cwd: undisturbed.path })).code).toBe(0);
    expect(await sha256(join(place.path, 'c.npy'))).toBe(await sha256(join(undisturbed.path, 'c.npy')));
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s releases the job and ends with 130; the same command goes on',
    async (signal) => {
      await using place = await folder();
      const spec = await matmulJob(place.path, SLOW);
      await using running = new Running(['job', 'run', spec, ...NAIVE], { cwd: place.path });
      await running.hear(({ type, done }) => type === 'tile' && Number(done) >= 2);
      const { code, stdout } = await running.kill(signal);
      expect(lines(stdout).at(-1)).toMatchObject({ type: 'released' });
      expect(code).toBe(130);

      const status = JSON.parse((await uhop(['job', 'list', '--json'], { cwd: place.path })).stdout) as Record<
        string,
        unknown
      >;
      expect(status).toMatchObject({ state: 'orphaned', attempts: 0, releases: 1 });

      const again = await uhop(['job', 'run', spec, '--backend', 'naive'], { cwd: place.path });
      expect(again.stderr).toMatch(/10 tiles, \d of them done before and reused/);
      expect(again.code).toBe(0);
    },
  );

  test('run again when it is done, it answers the stored result', async () => {
    await using place = await folder();
    const spec = await matmulJob(place.path);
    const first = await uhop(['job', 'run', spec], { cwd: place.path });
    const second = await uhop(['job', 'run', spec], { cwd: place.path });
    expect(second.stdout).toBe(first.stdout);
    expect(second.code).toBe(0);
  });

  test('writes the output of a completed job again, or says that it is gone and what to do', async () => {
    await using place = await folder();
    const spec = await matmulJob(place.path);
    const output = join(place.path, 'c.npy');
    await uhop(['job', 'run', spec], { cwd: place.path });
    const hash = await sha256(output);
    await rm(output);
    expect((await uhop(['job', 'run', spec], { cwd: place.path })).code).toBe(0);
    expect(await sha256(output)).toBe(hash);

    await rm(output);
    await rm(join(place.path, '.uhop', 'blobs'), { recursive: true });
    const { code, stderr } = await uhop(['job', 'run', spec], { cwd: place.path });
    expect(stderr).toContain(`${output} is gone or changed since`);
    expect(stderr).toContain('hint: give the spec a "nonce" to compute it anew');
    expect(code).toBe(1);
  });

  test('a backend that is not there ends with 3, and the job can still be done', async () => {
    await using place = await folder();
    const spec = await matmulJob(place.path);
    const { code, stderr } = await uhop(['job', 'run', spec, '--backend', 'cpu'], {
      cwd: place.path,
      env: { UHOP_DISABLE: 'cpu' },
    });
    expect(stderr).toContain('[E_BACKEND_UNAVAILABLE]');
    expect(code).toBe(3);
    expect((await uhop(['job', 'run', spec, '--backend', 'naive'], { cwd: place.path })).code).toBe(0);
  });

  test.each([
    ['no JSON', '{ "op": ', 'is not JSON'],
    ['an unknown op', '{ "op": "fft", "inputs": {}, "output": "c.npy" }', 'fft'],
    ['a missing input', '{ "op": "relu", "inputs": { "x": "none.npy" }, "output": "c.npy" }', 'none.npy'],
  ])('a spec with %s is one clear error', async (_what, content, words) => {
    await using place = await folder();
    await writeFile(join(place.path, 'spec.json'), content);
    const { code, stdout, stderr } = await uhop(['job', 'run', 'spec.json'], { cwd: place.path });
    expect(stderr).toContain(words);
    expect(stderr.split('\n').length).toBeLessThanOrEqual(3);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });
});

const hasScript = spawnSync('script', ['--version']).status === 0;

describe.skipIf(!hasScript)('on a terminal', () => {
  const onTerminal = async (cwd: string, spec: string, env: Record<string, string>): Promise<string> => {
    const command = `${process.execPath} ${process.cwd()}/dist/lib/cli/main.js job run ${spec}`;
    const { CI: _ci, NO_COLOR: _colour, ...rest } = process.env;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd,
      env: { ...rest, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text(child.stdout);
  };

  test('a bar shows the tiles', async () => {
    await using place = await folder();
    const seen = await onTerminal(place.path, await matmulJob(place.path), {});
    expect(seen).toMatch(/█+.* 8\/8 tiles/);
    expect(seen).toContain('\u001b[32m');
  });

  test('NO_COLOR takes the colours away', async () => {
    await using place = await folder();
    const seen = await onTerminal(place.path, await matmulJob(place.path), { NO_COLOR: '1' });
    expect(seen).toContain('8/8 tiles');
    for (const colour of [31, 32, 36, 2]) expect(seen).not.toContain(`\u001b[${colour}m`);
  });
});
