import { deepEqual, equal } from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { claimed, type ConformanceCase, nextRecord, refusal, tokenOf } from './bench.ts';

export const blobs: readonly ConformanceCase[] = [
  {
    name: 'a blob comes back bit for bit, whatever its bits mean as numbers',
    async run(open) {
      const store = await open();
      const numbers = Float32Array.of(Number.NaN, -0, Number.POSITIVE_INFINITY, 1e-45);
      const bytes = new Uint8Array(numbers.buffer);
      const { sha256 } = await store.blobs.put(bytes);
      const back = await store.blobs.get(sha256);
      deepEqual([...back], [...bytes]);
      const empty = await store.blobs.put(new Uint8Array());
      equal(empty.sha256, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
      equal((await store.blobs.get(empty.sha256)).byteLength, 0);
    },
  },
  {
    name: 'putting the same bytes again, also at once, is one blob',
    async run(open) {
      const { blobs: store } = await open();
      const bytes = randomBytes(5000);
      const answers = await Promise.all([1, 2, 3, 4].map(() => store.put(bytes)));
      equal(new Set(answers.map((it) => it.sha256)).size, 1);
      deepEqual([...(await store.get(answers[0]!.sha256))], [...bytes]);
      equal(answers[0]!.bytes, 5000);
    },
  },
  {
    name: 'changing bytes that were put, or that were got, changes no blob',
    async run(open) {
      const { blobs: store } = await open();
      const bytes = Uint8Array.of(1, 2, 3);
      const { sha256 } = await store.put(bytes);
      bytes.fill(9);
      (await store.get(sha256)).fill(9);
      deepEqual([...(await store.get(sha256))], [1, 2, 3]);
    },
  },
  {
    name: 'an absent blob is E_BLOB_MISSING, and a name that is no hash is refused',
    async run(open) {
      const { blobs: store } = await open();
      const absent = randomBytes(32).toString('hex');
      equal(await store.has(absent), false);
      await refusal('E_BLOB_MISSING', store.get(absent));
      for (const name of ['../../etc/passwd', '', absent.toUpperCase().replaceAll(/\d/g, 'A'), `${absent}/x`]) {
        await refusal('E_ARGUMENT', store.get(name));
        await refusal('E_ARGUMENT', store.has(name));
      }
    },
  },
  {
    name: 'collecting leaves named blobs and young ones alone',
    async run(open) {
      const { blobs: store } = await open();
      const [named, young] = [await store.put(randomBytes(10)), await store.put(randomBytes(11))];
      await store.collect(async () => true, 0);
      await store.collect(async (sha256) => sha256 === named.sha256, 3600 * 1000);
      deepEqual([await store.has(named.sha256), await store.has(young.sha256)], [true, true]);
    },
  },
  {
    name: 'a blob is named from the checkpoint that names it on, also when that is set aside',
    async run(open) {
      const store = await open();
      const [blob, other] = [await store.blobs.put(randomBytes(10)), await store.blobs.put(randomBytes(11))];
      const named = async (): Promise<boolean[]> => [
        await store.isNamed(blob.sha256),
        await store.isNamed(other.sha256),
      ];
      const handoff = await claimed(store);
      deepEqual(await named(), [false, false]);
      await store.checkpoint(tokenOf(handoff), nextRecord(handoff, { blobs: [{ name: 'tile', ...blob }] }));
      deepEqual(await named(), [true, false]);
      await store.quarantine(tokenOf(handoff), 1, 'set aside');
      deepEqual(await named(), [true, false]);
    },
  },
];
