// One process at a store: `node store-child.mjs <url> <role> [id]`. It answers in lines of JSON on stdout.
import { once } from 'node:events';
import { openStore, sealRecord } from 'uhop/dhp';

const [url, role, id] = process.argv.slice(2);
const lease = { ttlMs: 6000, heartbeatMs: 2000 };
const holder = { workerId: `${role} ${process.pid}`, boot: 'test', pid: process.pid, startTime: '1' };
const store = await openStore(url);

function say(message) {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(message)}\n`, resolve));
}

function next(handoff) {
  return sealRecord({
    t: 'ckpt',
    v: 1,
    id: handoff.id,
    seq: handoff.seq + 1,
    fence: String(handoff.fence),
    attempt: handoff.attempts,
    worker: holder.workerId,
    ts: new Date().toISOString(),
    state: { done: handoff.seq + 1 },
    blobs: [],
    usage: { steps: 1, cost: 0, wall_ms: 1 },
    prev: handoff.head,
  });
}

async function begin() {
  const { state } = await store.get(id);
  return state === 'pending' ? store.claim(id, holder, lease) : store.recover(id, holder, lease);
}

const codeOf = (attempt) =>
  attempt.then(
    () => 'done',
    (error) => error.code ?? String(error),
  );

const roles = {
  /** Opens the store and leaves. */
  async open() {
    await say({ opened: (await store.list()).length });
  },

  /** Claims and completes whatever it can get of all there is. */
  async race() {
    const won = [];
    const refused = {};
    const everything = await store.list();
    await say({ ready: true });
    await once(process.stdin, 'data');
    for (const { id: one } of everything) {
      try {
        const { fence } = await store.claim(one, holder, lease);
        await store.complete({ id: one, fence }, holder.workerId);
        won.push(one);
      } catch (error) {
        const code = error.code ?? String(error);
        refused[code] = (refused[code] ?? 0) + 1;
      }
    }
    await say({ won, refused });
  },

  /** Checkpoints until it is killed, saying each sequence number only once it is acknowledged. */
  async write() {
    let handoff = await begin();
    for (;;) {
      handoff = await store.checkpoint({ id, fence: handoff.fence }, next(handoff));
      await say({ acknowledged: handoff.seq });
    }
  },

  /** Dies of its work, without a word. */
  async abort() {
    const { fence } = await begin();
    await say({ fence: String(fence) });
    process.abort();
  },

  /** Claims, waits to be told, then tries each of a holder's writes. */
  async sleep() {
    const start = await begin();
    const token = { id, fence: start.fence };
    const handoff = await store.checkpoint(token, next(start));
    await say({ fence: String(token.fence) });
    await once(process.stdin, 'data');
    await say({
      checkpoint: await codeOf(store.checkpoint(token, next(handoff))),
      heartbeat: await codeOf(store.heartbeat(token)),
      complete: await codeOf(store.complete(token, 'the sleeper')),
      fail: await codeOf(store.fail(token, 'the sleeper', false)),
      release: await codeOf(store.release(token, 'the sleeper')),
    });
  },
};

await roles[role]();
await store.close();
process.stdin.destroy();
