// A worker process on strings: does what the test sends over IPC and answers each command with its outcome.
import { pbkdf2Sync } from 'node:crypto';
import { acquire, claim, openStore, recover, Supervisor } from 'uhop/dhp';

const store = await openStore(process.argv[2]);
const claims = new Map();
const take = { acquire, claim, recover };

const say = (event) => process.send({ ...event, at: performance.now() });

async function hold(how, id, options) {
  const ctx = await take[how](store, id, { workerId: `puppet-${process.pid}`, ...options });
  claims.set(id, ctx);
  ctx.signal.addEventListener('abort', () =>
    say({ event: 'aborted', id, code: ctx.signal.reason.code, details: ctx.signal.reason.details }),
  );
  return { fence: String(ctx.fence), attempt: ctx.attempt };
}

const commands = {
  acquire: (id, options) => hold('acquire', id, options),
  claim: (id, options) => hold('claim', id, options),
  recover: (id, options) => hold('recover', id, options),

  /** Counts to `steps`, one checkpoint with a blob per step, from wherever the last holder came to. */
  async count(id, steps, options) {
    await hold('acquire', id, options);
    const ctx = claims.get(id);
    const restored = await ctx.restore();
    for (let n = restored?.state.n ?? 0; n < steps; ) {
      n += 1;
      await ctx.checkpoint({ n }, { blobs: { part: Buffer.from(`part ${n}`) } });
      say({ event: 'acked', id, n });
    }
    await ctx.complete({ n: steps });
    return { from: restored?.state.n ?? 0 };
  },

  checkpoint: async (id, state) => (await claims.get(id).checkpoint(state)).seq,
  complete: async (id, result) => (await claims.get(id).complete(result)).state,
  fail: async (id, message) => (await claims.get(id).fail(new Error(message))).state,
  release: async (id, reason) => (await claims.get(id).release(reason)).state,
  isAborted: async (id) => claims.get(id).signal.aborted,

  async spin(ms) {
    for (const end = performance.now() + ms; performance.now() < end; );
  },
  async native(ms) {
    for (const end = performance.now() + ms; performance.now() < end; ) pbkdf2Sync('a', 'b', 3_000_000, 64, 'sha512');
  },
  async abort() {
    process.abort();
  },
  async supervise(options) {
    const onEvent = ({ type, id, reason }) => say({ event: type, id, reason });
    new Supervisor(store, { ...options, onEvent }).start();
  },
  /** Stops listening: the process ends by itself if nothing of the package keeps it alive. */
  async leave() {
    setImmediate(() => process.disconnect());
  },
};

process.on('message', async ({ n, command, args }) => {
  try {
    process.send({ n, value: (await commands[command](...args)) ?? null });
  } catch (error) {
    process.send({ n, error: { code: error.code, message: error.message, details: error.details } });
  }
});
say({ event: 'ready' });
