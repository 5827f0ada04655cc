import { deepEqual, equal } from 'node:assert/strict';
import {
  advanced,
  type ConformanceCase,
  claimed,
  historyOf,
  nextRecord,
  present,
  RESULT,
  recovered,
  refusal,
  tokenOf,
  unchanged,
} from './bench.ts';

export const chain: readonly ConformanceCase[] = [
  {
    name: 'checkpoints form one chain without a gap over all attempts',
    async run(open) {
      const store = await open();
      let handoff = await claimed(store);
      const { id } = handoff;
      equal(await store.lastCheckpoint(id), null);
      deepEqual(await store.checkpoints(id), []);
      for (const _ of [1, 2]) handoff = await advanced(store, handoff);
      await store.orphan(tokenOf(handoff), 'expired');
      handoff = await recovered(store, id);
      for (const _ of [3, 4]) handoff = await advanced(store, handoff);
      const records = await store.checkpoints(id);
      deepEqual(
        records.map((it) => [it.seq, it.fence, it.attempt, it.state]),
        [
          [1, '1', 1, { done: 1 }],
          [2, '1', 1, { done: 2 }],
          [3, '3', 2, { done: 3 }],
          [4, '3', 2, { done: 4 }],
        ],
      );
      deepEqual(
        records.map((it) => it.prev),
        [id, ...records.slice(0, -1).map((it) => it.hash)],
      );
      deepEqual(await store.lastCheckpoint(id), records[3]);
      deepEqual(await store.checkpoints(id, 3), records.slice(2));
      deepEqual([handoff.seq, handoff.head], [4, records[3]?.hash]);
      deepEqual(handoff.usage, { steps: 4, cost: 0, wall_ms: 40 });
    },
  },
  {
    name: 'a checkpoint that does not continue the chain is E_SEQUENCE and says where the chain is',
    async run(open) {
      const store = await open();
      const handoff = await advanced(store, await claimed(store));
      const wrong = [
        { seq: handoff.seq + 2 },
        { seq: handoff.seq, state: 'rewritten' },
        { seq: 1, prev: handoff.id, state: 'rewritten' },
        { prev: handoff.id },
      ];
      for (const differing of wrong) {
        const error = await unchanged(store, handoff.id, () =>
          refusal('E_SEQUENCE', advanced(store, handoff, differing)),
        );
        deepEqual([error.details['seq'], error.details['head']], [handoff.seq, handoff.head]);
      }
      equal((await advanced(store, handoff)).seq, 2);
    },
  },
  {
    name: 'a checkpoint repeated, the newest or an older one, is a success that changes nothing',
    async run(open) {
      const store = await open();
      const first = await claimed(store);
      const records = [nextRecord(first)];
      const second = await store.checkpoint(tokenOf(first), records[0]!);
      records.push(nextRecord(second));
      const third = await store.checkpoint(tokenOf(first), records[1]!);
      for (const record of records) {
        const again = await unchanged(store, first.id, () => store.checkpoint(tokenOf(first), record));
        deepEqual(again, third);
      }
    },
  },
  {
    name: 'two submissions of the same checkpoint at once are stored once',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      const record = nextRecord(handoff);
      await Promise.all([1, 2, 3].map(() => store.checkpoint(tokenOf(handoff), record)));
      deepEqual(await store.checkpoints(handoff.id), [record]);
      equal((await present(store, handoff.id)).usage.steps, 1);
    },
  },
  {
    name: 'the same complete repeated succeeds; another result, or another fence, does not',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      const done = await store.complete(tokenOf(handoff), RESULT);
      await unchanged(store, handoff.id, async () => {
        deepEqual(await store.complete(tokenOf(handoff), RESULT), done);
        await refusal('E_LEASE_LOST', store.complete(tokenOf(handoff), { answer: 43 }));
        await refusal('E_LEASE_LOST', store.complete({ id: handoff.id, fence: handoff.fence + 1n }, RESULT));
      });
    },
  },
  {
    name: 'a record whose hash does not fit is refused',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      const record = { ...nextRecord(handoff), state: 'altered' };
      await unchanged(store, handoff.id, () =>
        refusal('E_CHECKPOINT_CORRUPT', store.checkpoint(tokenOf(handoff), record)),
      );
    },
  },
  {
    name: 'state that JSON cannot carry faithfully is refused, not coerced',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      const record = nextRecord(handoff);
      for (const state of [[Number.NaN], [Number.POSITIVE_INFINITY], [-0], 2 ** 53, '\ud800']) {
        await refusal('E_CANONICAL', store.checkpoint(tokenOf(handoff), { ...record, state }));
      }
      equal((await present(store, handoff.id)).seq, 0);
    },
  },
  {
    name: 'what is hard to store comes back as it was',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      const state = {
        '': 'empty',
        ['__proto__']: { polluted: false },
        'quote " back \\ nul \u0000': '\u2028 € 😀',
        numbers: [5e-324, 0.1, 123456.789e-30, -9007199254740991, 1e15],
        nested: [[[[]]], {}, null, true],
      };
      await advanced(store, handoff, { state });
      deepEqual((await store.lastCheckpoint(handoff.id))?.state, state);
    },
  },
  {
    name: 'a quarantined checkpoint is out of the chain and the one before it serves',
    async run(open) {
      const store = await open();
      let handoff = await claimed(store);
      const token = tokenOf(handoff);
      for (const _ of [1, 2, 3]) handoff = await advanced(store, handoff);
      await unchanged(store, handoff.id, () => refusal('E_SEQUENCE', store.quarantine(token, 4, 'not there')));
      const back = await store.quarantine(token, 3, 'its blob cannot be read');
      const [first, second] = await store.checkpoints(handoff.id);
      deepEqual([back.seq, back.head], [2, second?.hash]);
      deepEqual(await store.lastCheckpoint(handoff.id), second);
      deepEqual(back.usage, handoff.usage);
      await store.quarantine(token, 2, 'nor its');
      const start = await store.quarantine(token, 1, 'nor its');
      deepEqual([start.seq, start.head, first?.prev], [0, handoff.id, handoff.id]);
      equal(await store.lastCheckpoint(handoff.id), null);
      await refusal('E_SEQUENCE', store.quarantine(token, 0, 'nothing left'));
      const again = await advanced(store, start, { state: 'another way' });
      deepEqual([again.seq, (await store.lastCheckpoint(handoff.id))?.state], [1, 'another way']);
      equal((await historyOf(store, handoff.id)).filter((type) => type === 'quarantined').length, 3);
    },
  },
  {
    name: 'a checkpoint quarantined in the middle takes all after it along, as one event',
    async run(open) {
      const store = await open();
      const start = await claimed(store);
      let handoff = start;
      for (const _ of [1, 2, 3, 4]) handoff = await advanced(store, handoff);
      const [first] = await store.checkpoints(handoff.id);
      const back = await store.quarantine(tokenOf(start), 2, 'it cannot be read');
      deepEqual([back.seq, back.head], [1, first?.hash]);
      deepEqual(await store.checkpoints(handoff.id), [first]);
      equal((await historyOf(store, handoff.id)).filter((type) => type === 'quarantined').length, 1);
      equal((await advanced(store, back, { state: 'another way' })).seq, 2);
      equal((await store.checkpoints(handoff.id)).length, 2);
    },
  },
  {
    name: 'a checkpoint naming a blob that is not stored is refused until it is',
    async run(open) {
      const store = await open();
      const handoff = await claimed(store);
      const bytes = Uint8Array.from({ length: 1000 }, (_, n) => n % 251);
      const absent = '0'.repeat(64);
      const naming = (hash: string) => ({ blobs: [{ name: 'tile', sha256: hash, bytes: bytes.length }] });
      await unchanged(store, handoff.id, () => refusal('E_BLOB_MISSING', advanced(store, handoff, naming(absent))));
      const stored = await store.blobs.put(bytes);
      equal((await advanced(store, handoff, naming(stored.sha256))).seq, 1);
      deepEqual(await store.blobs.get(stored.sha256), bytes);
    },
  },
];
