import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Holder, liveness, thisProcess } from 'uhop/dhp';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/store.ts';

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});

function start(file: string, ...args: readonly string[]): ChildProcess {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

async function holderOf(pid: number): Promise<Holder> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  return { ...thisProcess('test'), pid, startTime };
}

describe.runIf(process.platform === 'linux')('a holder of this host', () => {
  it('is alive as long as its process runs', async () => {
    expect(liveness(thisProcess('me'))).toBe('alive');
    const child = start('sleep', '100');
    expect(liveness(await holderOf(child.pid ?? 0))).toBe('alive');
  });

  it('is alive while its process is stopped', async () => {
    const child = start('sleep', '100');
    const holder = await holderOf(child.pid ?? 0);
    child.kill('SIGSTOP');
    await eventually(async () => (await readFile(`/proc/${child.pid}/stat`, 'latin1')).includes(') T '));
    expect(liveness(holder)).toBe('alive');
  });

  it('is dead once its process is gone', async () => {
    const child = start('sleep', '100');
    const holder = await holderOf(child.pid ?? 0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(liveness(holder)).toBe('dead');
  });

  it('is dead when its process id went to another process', async () => {
    const child = start('sleep', '100');
    const holder = await holderOf(child.pid ?? 0);
    expect(liveness({ ...holder, startTime: String(Number(holder.startTime) - 1) })).toBe('dead');
  });

  it('is dead as a zombie that its parent never waits for', async () => {
    // The shell becomes a sleep, which knows nothing of the child it got.
    const parent = start('sh', '-c', 'sleep 0.3 & echo $!; exec sleep 100');
    const [line] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    const holder = await holderOf(Number(line.toString()));
    await eventually(async () => (await readFile(`/proc/${holder.pid}/stat`, 'latin1')).includes(') Z '));
    expect(liveness(holder)).toBe('dead');
  });

  it('is recognised under a command name with blanks and parentheses', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'uhop-process-'));
    try {
      const name = join(folder, 'a) Z 1 (b');
      await copyFile('/bin/sleep', name);
      const child = start(name, '100');
      await once(child, 'spawn');
      await eventually(async () => (await readFile(`/proc/${child.pid}/stat`, 'latin1')).includes('(a) Z 1 (b)'));
      expect(liveness(await holderOf(child.pid ?? 0))).toBe('alive');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('a holder elsewhere', () => {
  const gone = { ...thisProcess('test'), pid: 2 ** 22 + 1 };

  it.runIf(process.platform === 'linux')('would be dead here', () => {
    expect(liveness(gone)).toBe('dead');
  });

  it('cannot be judged under another kernel', () => {
    expect(liveness({ ...gone, boot: gone.boot.replace(/^[^/]*/, '00000000-0000-0000-0000-000000000000') })).toBe(
      'unknown',
    );
  });

  it('cannot be judged in another process namespace', () => {
    expect(liveness({ ...gone, boot: gone.boot.replace(/\/.*$/, '/1') })).toBe('unknown');
  });
});

describe('UHOP_TRIGGER', () => {
  const run = async (plan: string): Promise<{ readonly end: unknown; readonly output: string }> => {
    const script =
      "const { trigger } = await import('uhop/dhp'); for (let n = 1; n < 4; n += 1) { console.log(n); trigger('a:point'); }";
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, UHOP_TRIGGER: plan },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    return { end: signal ?? code, output };
  };

  it('acts at the named pass of the named point', async () => {
    expect(await run('a:point@2=kill')).toEqual({ end: 'SIGKILL', output: '1\n2\n' });
    expect(await run('other=kill,a:point=abort')).toMatchObject({ end: 'SIGABRT' });
  });

  it('does nothing elsewhere', async () => {
    expect(await run('other:point=kill')).toEqual({ end: 0, output: '1\n2\n3\n' });
  });

  it('is refused when it cannot be understood', async () => {
    const { end, output } = await run('a:point=explode');
    expect(end).toBe(1);
    expect(output).toContain("UHOP_TRIGGER holds 'a:point=explode'");
  });
});
