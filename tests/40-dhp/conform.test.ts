import {
  type CheckpointRecord,
  type ConformanceReport,
  conformance,
  openStore,
  runConformance,
  type Store,
  sealRecord,
  type Token,
} from 'uhop/dhp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempDir } from '../support/handoffs.ts';

describe.each(['memory', 'sqlite'])('the %s store conforms', (kind) => {
  let directory: Awaited<ReturnType<typeof tempDir>>;
  let report: ConformanceReport;

  beforeAll(async () => {
    directory = await tempDir();
    const url = kind === 'memory' ? 'memory:' : directory.path;
    report = await runConformance((now) => openStore(url, { now }));
  });
  afterAll(() => directory[Symbol.asyncDispose]());

  test.each(conformance.map((it) => it.name))('%s', (name) => {
    const outcome = report.cases.find((it) => it.name === name);
    if (outcome?.error) throw outcome.error;
    expect(outcome?.ok).toBe(true);
  });
});

test('the report counts, and tells of each case as it ends', async () => {
  const told: string[] = [];
  const cases = [
    { name: 'fine', run: async () => {} },
    { name: 'broken', run: () => Promise.reject(new Error('as expected')) },
  ];
  const report = await runConformance(() => openStore('memory:'), { cases, onCase: (it) => told.push(it.name) });
  expect(report).toMatchObject({ passed: 1, failed: 1, cases: [{ ok: true }, { error: { message: 'as expected' } }] });
  expect(told).toEqual(['fine', 'broken']);
});

/** Gives every write the fence of now instead of the one its caller holds: the predicate is then always true. */
type Unfenced = 'heartbeat' | 'checkpoint' | 'quarantine' | 'complete' | 'release' | 'fail' | 'orphan' | 'park';

async function withoutFence(method: Unfenced, now: () => number): Promise<Store> {
  const store = await openStore('memory:', { now });
  const original = store[method].bind(store) as (token: Token, ...rest: unknown[]) => Promise<unknown>;
  const mutated = async (token: Token, ...rest: unknown[]): Promise<unknown> => {
    const { fence } = (await store.get(token.id)) ?? token;
    const [first, ...others] = rest;
    const argument = method === 'checkpoint' ? resealed(first as CheckpointRecord, fence) : first;
    return original({ id: token.id, fence }, argument, ...others);
  };
  return Object.assign(store, { [method]: mutated });
}

function resealed(record: CheckpointRecord, fence: bigint): CheckpointRecord {
  const { hash, ...body } = record;
  return hash === sealRecord(body).hash ? sealRecord({ ...body, fence: String(fence) }) : record;
}

test.each([
  ['heartbeat', 'LeaseLost'],
  ['checkpoint', 'LeaseLost'],
  ['quarantine', 'LeaseLost'],
  ['complete', 'LeaseLost'],
  ['release', 'LeaseLost'],
  ['fail', 'LeaseLost'],
  ['orphan', 'answers false'],
  ['park', 'answers false'],
] as const)('a store whose %s forgets the fence is found out', async (method, words) => {
  const { cases } = await runConformance((now) => withoutFence(method, now));
  const failed = cases.filter((it) => !it.ok).map((it) => it.name);
  expect(failed).toContainEqual(expect.stringMatching(new RegExp(`^${method} .*fence.*${words}`)));
});
