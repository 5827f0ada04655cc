// 50 cycles of {start a worker_thread, start products in it, terminate it in mid-product}; exits by itself.
// usage: node worker-cycles.mjs with-main | workers-only
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

const addonPath = isMainThread ? process.env.UHOP_TEST_ADDON : workerData;
const load = () => createRequire(import.meta.url)(addonPath);

function start(addon, size) {
  const [a, out] = [new Float32Array(size * size).fill(1), new Float32Array(size * size)];
  const shape = Float64Array.of(0, size, size, size, 0, 0, 0, 0, 0);
  return new Promise((resolve) => {
    addon.run(0, 2, shape, a, a, undefined, out, (outcome) => resolve([outcome, out[0]]));
  });
}

if (isMainThread) {
  const mode = process.argv[2];
  const main = mode === 'with-main' ? load() : undefined;
  for (let cycle = 0; cycle < 50; cycle++) {
    const worker = new Worker(new URL(import.meta.url), { workerData: addonPath });
    await once(worker, 'message');
    await worker.terminate();
    if (!main) continue;
    const [outcome, first] = await start(main, 64);
    if (outcome !== 0 || first !== 64) throw new Error(`cycle ${cycle}: outcome ${outcome}, ${first}`);
  }
  process.stdout.write('50 cycles\n');
} else {
  const addon = load();
  // One that finishes while the thread goes away, one that runs for long, one that waits in the queue.
  void start(addon, 128);
  void start(addon, 1536);
  void start(addon, 1536);
  parentPort.postMessage('started');
}
