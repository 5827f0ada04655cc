// 50 cycles of {start a worker_thread, start products in it, terminate it in mid-product}; exits by itself.
// usage: node worker-cycles.mjs with-main | workers-only
import { once } from 'node:events';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';

const load = () => import(new URL('../../dist/lib/index.js', import.meta.url).href);

function square({ matmul, tensor }, size) {
  const a = tensor(new Float32Array(size * size).fill(1), [size, size]);
  return matmul(a, a, { backend: 'cpu', borrow: true });
}

if (isMainThread) {
  const main = process.argv[2] === 'with-main' ? await load() : undefined;
  for (let cycle = 0; cycle < 50; cycle++) {
    const worker = new Worker(new URL(import.meta.url));
    await once(worker, 'message');
    await worker.terminate();
    if (!main) continue;
    const { data } = await square(main, 256);
    if (data[0] !== 256) throw new Error(`cycle ${cycle}: ${data[0]}`);
  }
  process.stdout.write('50 cycles\n');
} else {
  const uhop = await load();
  // One that finishes while the thread goes away, one that runs for long, one that waits in the queue.
  void square(uhop, 256);
  void square(uhop, 1536);
  void square(uhop, 1536);
  parentPort.postMessage('started');
}
