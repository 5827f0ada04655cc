import Database from 'better-sqlite3';
import { dispatch, openStore, thisProcess } from 'uhop/dhp';
import { describe, expect, test } from 'vitest';
import { type Event, folder, lines, matmulJob, Running, uhop } from './cli.ts';

const SLOW = { tiles: 10, rows: 128, k: 512, columns: 512 };
const WORKER = ['worker', '--json', '--backend', 'naive', '--poll', '50'];

const tileDone =
  (least: number) =>
  ({ type, done }: Event): boolean =>
    type === 'tile' && Number(done) >= least;

async function submit(cwd: string, spec: string): Promise<string> {
  const { code, stdout } = await uhop(['job', 'submit', spec], { cwd });
  expect(code).toBe(0);
  return stdout.trim();
}

describe('uhop job submit, status, list, result, cancel', () => {
  test('a job from its submission to its result', async () => {
    await using place = await folder();
    const cwd = place.path;
    const spec = await matmulJob(cwd);
    const id = await submit(cwd, spec);
    expect(id).toMatch(/^h1_[0-9a-f]{64}$/);
    expect(await submit(cwd, spec)).toBe(id);
    const asJson = await uhop(['job', 'submit', spec, '--json'], { cwd });
    expect(JSON.parse(asJson.stdout)).toEqual({ id, created: false, op: 'matmul', tiles: 8, store: './.uhop' });
    expect(asJson.stderr).toBe('');

    const waiting = await uhop(['job', 'result', id], { cwd });
    expect(waiting.stderr).toContain('the job is pending, with 0 of 8 tiles done');
    expect(waiting.code).toBe(1);

    const worker = await uhop([...WORKER, '--until-idle'], { cwd });
    expect(lines(worker.stdout).at(-1)).toMatchObject({ type: 'summary', completed: 1 });
    expect(worker.code).toBe(0);

    const beginning = id.slice(3, 9);
    const status = await uhop(['job', 'status', beginning], { cwd });
    expect(status.stdout).toMatch(/^state +completed$/m);
    expect(status.stdout).toMatch(/^tiles +8 of 8 done$/m);
    const listed = await uhop(['job', 'list'], { cwd });
    expect(listed.stdout).toMatch(/^h1_\w+ +matmul +completed +8\/8/m);
    const result = JSON.parse((await uhop(['job', 'result', beginning, '--json'], { cwd })).stdout) as unknown;
    expect(result).toMatchObject({ shape: [128, 48], dtype: 'f32', tiles: 8, paths: ['naive:js'] });
  });

  test('a cancelled job is not worked on', async () => {
    await using place = await folder();
    const cwd = place.path;
    const id = await submit(cwd, await matmulJob(cwd));
    const cancelled = await uhop(['job', 'cancel', id, '--json'], { cwd });
    expect(JSON.parse(cancelled.stdout)).toEqual({ id, state: 'cancelled' });
    const worker = await uhop([...WORKER, '--until-idle'], { cwd });
    expect(lines(worker.stdout)).toMatchObject([{ type: 'summary', completed: 0 }]);
    expect((await uhop(['job', 'requeue', id], { cwd })).code).toBe(1);
  });

  test('a job that this version cannot read is told of and hides no other', async () => {
    await using place = await folder();
    const cwd = place.path;
    const store = await openStore(`${cwd}/.uhop`);
    const later = { taskKind: 'uhop.matmul', inputs: { v: 2, op: 'matmul' }, outputSchema: true };
    const { id: strange } = await dispatch(store, later);
    await store.close();
    const id = await submit(cwd, await matmulJob(cwd));

    const listed = await uhop(['job', 'list'], { cwd });
    expect(listed.stdout).toMatch(/^h1_\w+ +matmul +pending +0\/8/m);
    expect(listed.stderr).toContain('is not a kernel job of version 1');
    expect(listed.code).toBe(0);
    const asJson = lines((await uhop(['job', 'list', '--json'], { cwd })).stdout);
    expect(asJson).toMatchObject([{ id: strange, state: 'pending', error: { code: 'E_SPEC' } }, { id }]);
    const worker = await uhop([...WORKER, '--until-idle'], { cwd });
    expect(lines(worker.stdout).at(-1)).toMatchObject({ type: 'summary', completed: 1 });
  });

  test('looking into a store that is not there creates none', async () => {
    await using place = await folder();
    for (const args of [['list'], ['dlq'], ['status', 'h1_0']]) {
      expect((await uhop(['job', ...args], { cwd: place.path })).code).toBe(2);
    }
    expect((await uhop(['job', 'list'], { cwd: place.path })).stderr).toContain('there is no store at ./.uhop');
  });

  test('the beginning of an id that fits nothing is a usage error', async () => {
    await using place = await folder();
    await submit(place.path, await matmulJob(place.path));
    const { code, stderr } = await uhop(['job', 'status', 'h1_zz'], { cwd: place.path });
    expect(stderr).toContain('no job of this store begins with h1_zz');
    expect(code).toBe(2);
  });

  test('UHOP_STORE names the store', async () => {
    await using place = await folder();
    const spec = await matmulJob(place.path);
    const env = { UHOP_STORE: `${place.path}/elsewhere` };
    expect((await uhop(['job', 'submit', spec], { cwd: place.path, env })).code).toBe(0);
    expect((await uhop(['job', 'list', '--store', env.UHOP_STORE, '--json'])).stdout).toContain('"pending"');
  });
});

describe('worker and supervisor', () => {
  test('a worker killed in mid-tile is followed by another, which reuses its tiles', async () => {
    await using place = await folder();
    const cwd = place.path;
    await submit(cwd, await matmulJob(cwd, SLOW));
    await using supervisor = new Running(['supervisor', '--json'], { cwd });
    await using first = new Running(WORKER, { cwd });
    await first.hear(({ type }) => type === 'started');
    await using second = new Running(WORKER, { cwd });
    await first.hear(tileDone(3));
    await first.kill('SIGKILL');

    const started = await second.hear(({ type }) => type === 'started');
    expect(started['reused']).toBeGreaterThanOrEqual(3);
    await second.hear(({ type }) => type === 'completed');
    const ended = await second.kill('SIGTERM');
    expect(lines(ended.stdout).at(-1)).toMatchObject({ type: 'summary', completed: 1 });
    expect(ended.code).toBe(130);
    const watched = await supervisor.kill('SIGINT');
    for (const event of lines(watched.stdout)) expect(event).toHaveProperty('type');
    expect(watched.code).toBe(130);
  });

  test('a worker that hangs in a tile loses the job after its progress timeout, to one that does not', async () => {
    await using place = await folder();
    const cwd = place.path;
    const id = await submit(cwd, await matmulJob(cwd));
    const env = { UHOP_TRIGGER: 'tile:computed@3=hang' };
    const timeout = ['--progress-timeout', '1500', '--heartbeat', '100'];
    await using hung = new Running([...WORKER, ...timeout], { cwd, env });
    await hung.hear(tileDone(2));
    await using other = new Running(WORKER, { cwd });
    expect(await other.hear(({ type }) => type === 'started')).toMatchObject({ id, reused: 2 });
    await other.hear(({ type }) => type === 'completed');
  });

  test('a supervisor tells of lasting trouble once, and frees the others meanwhile', async () => {
    await using place = await folder();
    await using store = await openStore(place.path);
    const gone = { ...thisProcess('gone'), pid: 2 ** 22 + 1 };
    const leftBehind = async (inputs: number): Promise<string> => {
      const { id } = await dispatch(store, { taskKind: 'test', inputs, outputSchema: true });
      await store.claim(id, gone, { ttlMs: 3_600_000, heartbeatMs: 1000 });
      return id;
    };
    const damaged = await leftBehind(0);
    const db = new Database(`${place.path}/dhp.sqlite`);
    db.prepare("UPDATE intents SET body = '{}' WHERE id = ?").run(damaged);
    db.close();
    await using supervisor = new Running(['supervisor', '--json', '--store', place.path, '--poll', '20']);
    for (let n = 1; n <= 5; n++) {
      const id = await leftBehind(n);
      await supervisor.hear((event) => event.type === 'orphaned' && event['id'] === id);
    }
    const { stdout } = await supervisor.kill('SIGTERM');
    expect(lines(stdout).filter(({ type }) => type === 'error')).toMatchObject([{ id: damaged }]);
  });

  test('--once leaves after one job, --kinds takes no other', async () => {
    await using place = await folder();
    const cwd = place.path;
    await submit(cwd, await matmulJob(cwd));
    await submit(cwd, await matmulJob(cwd, { nonce: 'second' }));
    const none = await uhop([...WORKER, '--until-idle', '--kinds', 'relu,conv2d'], { cwd });
    expect(lines(none.stdout)).toMatchObject([{ type: 'summary', completed: 0 }]);
    const once = await uhop([...WORKER, '--once'], { cwd });
    expect(lines(once.stdout).at(-1)).toMatchObject({ type: 'summary', completed: 1 });
    expect(once.code).toBe(0);
  });

  test('a worker of a backend that is not there does not wait for ever, it ends with 3', async () => {
    await using place = await folder();
    for (const env of [{ UHOP_DISABLE: 'cpu' }, { UHOP_DISABLE: 'cpu', UHOP_BACKEND: 'cpu' }]) {
      const flags = 'UHOP_BACKEND' in env ? [] : ['--backend', 'cpu'];
      const { code, stderr } = await uhop(['worker', ...flags], { cwd: place.path, env });
      expect(stderr).toContain('switched off by UHOP_DISABLE [E_BACKEND_UNAVAILABLE]');
      expect(code).toBe(3);
    }
  });

  test('a job that used up its attempts is a dead letter until it is requeued', async () => {
    await using place = await folder();
    const cwd = place.path;
    const spec = await matmulJob(cwd, { ...SLOW, budget: { max_attempts: 1 } });
    const id = await submit(cwd, spec);
    await using victim = new Running(WORKER, { cwd });
    await victim.hear(tileDone(2));
    await victim.kill('SIGKILL');

    const refused = await uhop(['job', 'run', spec, '--backend', 'naive'], { cwd });
    expect(refused.stderr).toContain('uhop job requeue');
    expect(refused.code).toBe(1);
    const dead = lines((await uhop(['job', 'dlq', '--json'], { cwd })).stdout);
    expect(dead).toMatchObject([{ id, state: 'dead', reason: 'worker-died', tiles: { total: 10 } }]);

    const requeued = await uhop(['job', 'requeue', id, '--attempts', '1', '--json'], { cwd });
    expect(JSON.parse(requeued.stdout)).toMatchObject({ id, state: 'orphaned', grant: { attempts: 1 } });
    expect((await uhop(['job', 'dlq', '--json'], { cwd })).stdout).toBe('');
    const again = lines((await uhop(['job', 'run', spec, '--backend', 'naive', '--json'], { cwd })).stdout);
    expect(again[0]?.['reused']).toBeGreaterThanOrEqual(2);
    expect(again.at(-1)).toMatchObject({ type: 'completed' });
  });
});
