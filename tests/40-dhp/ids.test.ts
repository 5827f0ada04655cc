import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import {
  canonical,
  DEFAULT_BUDGET,
  DhpError,
  type IntentRequest,
  type Json,
  intentId,
  makeIntent,
  openStore,
} from 'uhop/dhp';
import { describe, expect, test } from 'vitest';

interface Vector {
  readonly name: string;
  readonly request: IntentRequest;
  readonly canonical: string;
  readonly id: string;
}

const vectors = JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8')) as Vector[];
const NOOP: IntentRequest = { taskKind: 'noop', inputs: null, outputSchema: true };

describe('the vectors, made by another implementation', () => {
  test.each(vectors)('$name', async ({ request, canonical: bytes, id }) => {
    const intent = makeIntent(request);
    expect(canonical(intent)).toBe(bytes);
    expect(intentId(intent)).toBe(id);
    await using store = await openStore('memory:');
    expect(await store.dispatch(intent)).toEqual({ id, created: true });
  });
});

describe('an id', () => {
  test('does not depend on the order of keys', () => {
    const one = makeIntent({ ...NOOP, inputs: { a: 1, b: { c: 2, d: 3 } } });
    const other = makeIntent({ ...NOOP, inputs: { b: { d: 3, c: 2 }, a: 1 } });
    expect(intentId(one)).toBe(intentId(other));
  });

  test('of an absent budget is that of the explicit default', () => {
    expect(intentId(makeIntent(NOOP))).toBe(intentId(makeIntent({ ...NOOP, budget: DEFAULT_BUDGET })));
  });

  test('changes with every part of the intent', () => {
    const variants: Partial<IntentRequest>[] = [
      {},
      { taskKind: 'noop2' },
      { inputs: [] },
      { outputSchema: {} },
      { budget: { max_attempts: 4 } },
      { nonce: '1' },
    ];
    const ids = variants.map((it) => intentId(makeIntent({ ...NOOP, ...it })));
    expect(new Set(ids).size).toBe(variants.length);
  });
});

describe('canonical JSON refuses, naming the path', () => {
  class Point {
    x = 1;
  }
  const cycle: Record<string, unknown> = {};
  cycle['self'] = [cycle, cycle];
  const shared = (depth: number): unknown => {
    let value: unknown = [1];
    for (let n = 0; n < depth; n += 1) value = [value, value];
    return value;
  };
  const holes = [1];
  holes[2] = 3;
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['undefined', { a: [1, undefined] }, '$.a[1]'],
    ['NaN', { a: { b: Number.NaN } }, '$.a.b'],
    ['Infinity', [Number.NEGATIVE_INFINITY], '$[0]'],
    ['-0, which JSON writes as 0', { a: -0 }, '$.a'],
    ['BigInt', { a: 1n }, '$.a'],
    ['an integer beyond 2^53-1', { a: 9007199254740992 }, '$.a'],
    ['a huge double that is an integer', { a: 1e30 }, '$.a'],
    ['a lone high surrogate', { a: '\ud800x' }, '$.a'],
    ['a lone low surrogate in a key', { a: { '\udc00': 1 } }, '$.a'],
    ['a function', { a: { 'odd key': () => 1 } }, '$.a["odd key"]'],
    ['a symbol', { a: Symbol('s') }, '$.a'],
    ['a symbol as key', { a: { [Symbol('s')]: 1 } }, '$.a'],
    ['a Date, which has toJSON', { at: new Date(0) }, '$.at'],
    ['toJSON of a plain object', { a: { toJSON: () => 1 } }, '$.a.toJSON'],
    ['a Map', { a: new Map([[1, 2]]) }, '$.a'],
    ['a typed array', { a: Float32Array.of(1) }, '$.a'],
    ['a Buffer', { a: Buffer.from('x') }, '$.a'],
    ['a class instance', { a: new Point() }, '$.a'],
    ['a boxed string', { a: Object('x') }, '$.a'],
    ['an array with holes', { a: holes }, '$.a'],
    ['an array with a named property', { a: Object.assign([1], { more: 2 }) }, '$.a'],
    ['a cycle', cycle, '$'],
    ['more nodes than 1 MiB could hold, by sharing', shared(40), '$'],
    ['more than 1 MiB', { a: 'é'.repeat(524_288) }, '$'],
  ];
  test.each(cases)('%s', (_, value, path) => {
    let error: unknown;
    try {
      canonical(value);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(DhpError);
    expect(error).toMatchObject({ code: 'E_CANONICAL' });
    expect((error as DhpError).details['path']).toContain(path);
  });

  test('the sixty-fifth level, not the sixty-fourth', () => {
    const nested = (depth: number): Json => (depth === 0 ? 1 : [nested(depth - 1)]);
    expect(canonical(nested(64))).toBe(`${'['.repeat(64)}1${']'.repeat(64)}`);
    expect(() => canonical(nested(65))).toThrow(/deeper than 64/);
  });

  test('1 MiB and a byte, not 1 MiB', () => {
    const fitting = 'x'.repeat(1024 * 1024 - 2);
    expect(canonical(fitting)).toHaveLength(1024 * 1024);
    expect(() => canonical(`${fitting}x`)).toThrow(/1 MiB/);
  });
});

test('canonical JSON takes what another realm made, null prototypes and odd keys', () => {
  expect(canonical(runInNewContext('({ b: [1, { a: null }], a: "x" })'))).toBe('{"a":"x","b":[1,{"a":null}]}');
  expect(canonical(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
  expect(canonical(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
  expect(canonical([9007199254740991, -9007199254740991, 5e-324, 0])).toBe(
    '[9007199254740991,-9007199254740991,5e-324,0]',
  );
});

describe('a budget', () => {
  test.each([
    [{ max_attempts: 0 }, /max_attempts must be a positive integer.*got 0/],
    [{ max_attempts: null }, /max_attempts must be a positive integer.*got null/],
    [{ max_attempts: 1.5 }, /positive integer.*1.5/],
    [{ max_steps: -1 }, /max_steps.*-1/],
    [{ max_wall_ms: Number.POSITIVE_INFINITY }, /max_wall_ms.*Infinity/],
    [{ max_cost: 0 }, /max_cost must be a positive number/],
    [{ max_releases: '3' }, /max_releases.*got 3/],
    [{ max_attemps: 3 }, /no max_attemps: it knows max_attempts/],
    [[], /must be an object/],
    [null, /must be an object/],
  ])('%j is refused', (budget, message) => {
    const request = { ...NOOP, budget: budget as IntentRequest['budget'] } as IntentRequest;
    expect(() => makeIntent(request)).toThrow(message);
    expect(() => makeIntent(request)).toThrow(expect.objectContaining({ code: 'E_ARGUMENT' }));
  });

  test('may leave anything out', () => {
    expect(makeIntent({ ...NOOP, budget: { max_cost: 0.25 } }).budget).toEqual({ ...DEFAULT_BUDGET, max_cost: 0.25 });
  });
});

describe('an intent that makeIntent did not make is refused when', () => {
  test.each([
    ['its version is unknown', { v: 2 }],
    ['it has a part nobody knows', { priority: 1 }],
    ['its nonce is empty', { nonce: '' }],
    ['its nonce is there but undefined', { nonce: undefined }],
    ['its budget is partial', { budget: { max_attempts: 3 } }],
    ['its task kind is no string', { task_kind: 7 }],
  ])('%s', async (_, differing) => {
    await using store = await openStore('memory:');
    const intent = { ...makeIntent(NOOP), ...differing } as ReturnType<typeof makeIntent>;
    await expect(store.dispatch(intent)).rejects.toMatchObject({ code: 'E_ARGUMENT' });
  });
});
