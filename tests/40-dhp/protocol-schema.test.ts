import { type Json, makeIntent, openStore } from 'uhop/dhp';
import { describe, expect, test } from 'vitest';
import { LEASE, tokenOf, WORKER } from '../support/handoffs.ts';

async function completing(outputSchema: Json, result: Json): Promise<Json> {
  await using store = await openStore('memory:');
  const { id } = await store.dispatch(makeIntent({ taskKind: 'test', inputs: null, outputSchema }));
  const handoff = await store.claim(id, WORKER, LEASE);
  return (await store.complete(tokenOf(handoff), result)).result;
}

describe('refused at dispatch', () => {
  test.each<[string, Json, RegExp]>([
    ['an invalid type', { type: 'matrix' }, /type/],
    ['an unknown format', { type: 'string', format: 'nonsense' }, /unknown format "nonsense"/],
    ['an unknown keyword', { type: 'object', propertees: {} }, /unknown keyword: "propertees"/],
    ['a remote $ref', { $ref: 'https://example.org/schema.json' }, /can't resolve reference/],
    ['a $ref into nothing', { $ref: '#/$defs/absent' }, /can't resolve reference/],
    ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }, /draft-07/],
    ['an asynchronous schema', { $async: true, type: 'object' }, /\$async/],
    ['an invalid pattern', { type: 'string', pattern: '(' }, /pattern|regular expression/i],
    ['null', null, /schema must be object or boolean/],
    ['a string', 'object', /schema must be object or boolean/],
  ])('%s', async (_, outputSchema, message) => {
    await using store = await openStore('memory:');
    const attempt = store.dispatch(makeIntent({ taskKind: 'test', inputs: null, outputSchema }));
    await expect(attempt).rejects.toMatchObject({ code: 'E_SCHEMA', message: expect.stringMatching(message) });
    expect(await store.list()).toEqual([]);
  });
});

describe('a result', () => {
  test('is told every way in which it does not fit', async () => {
    const schema = {
      type: 'object',
      properties: { at: { type: 'string', format: 'date-time' }, n: { type: 'integer' } },
    };
    const attempt = completing(schema, { at: 'not-a-date', n: 0.5 });
    await expect(attempt).rejects.toMatchObject({
      code: 'E_RESULT',
      details: { errors: ['result/at must match format "date-time"', 'result/n must be integer'] },
    });
    expect(await completing(schema, { at: '2026-01-01T00:00:00Z', n: 1 })).toEqual({
      at: '2026-01-01T00:00:00Z',
      n: 1,
    });
  });

  test('is not changed by its schema: no defaults, no coercion', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', default: 3 } } };
    const result = Object.freeze({});
    expect(await completing(schema, result)).toEqual({});
    await expect(completing(schema, { n: '3' })).rejects.toMatchObject({ code: 'E_RESULT' });
  });

  test('may be null or false where the schema says so', async () => {
    expect(await completing({ type: ['null', 'boolean'] }, null)).toBe(null);
    expect(await completing(true, false)).toBe(false);
    await expect(completing(false, null)).rejects.toMatchObject({ code: 'E_RESULT' });
  });

  test('is checked against its own schema, also when another has the same $id', async () => {
    const named = (type: string) => ({ $id: 'https://example.org/result', type });
    expect(await completing(named('string'), 'x')).toBe('x');
    expect(await completing(named('integer'), 1)).toBe(1);
    await expect(completing(named('string'), 1)).rejects.toMatchObject({ code: 'E_RESULT' });
  });

  test('is checked against its own schema after more schemas than are kept compiled', async () => {
    for (let n = 0; n < 70; n += 1) await completing({ const: n }, n);
    await expect(completing({ const: 0 }, 1)).rejects.toMatchObject({ code: 'E_RESULT' });
    expect(await completing({ const: 0 }, 0)).toBe(0);
  });
});
