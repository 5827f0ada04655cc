// Runs one job in a process of its own: node job-worker.mjs <store> <id> [options as JSON]
// Events go to stdout as JSON lines, the outcome last; SIGTERM stops it.
import { runJob } from '../../dist/lib/index.js';
import { openStore } from '../../dist/lib/dhp/index.js';

const [url, id, options = '{}'] = process.argv.slice(2);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort('SIGTERM'));
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const store = await openStore(url);
try {
  print(await runJob(store, id, { ...JSON.parse(options), signal: stop.signal, onEvent: print }));
} catch (error) {
  print({ type: 'thrown', code: error.code, message: error.message });
}
await store.close();
print({ type: 'peak', kilobytes: process.resourceUsage().maxRSS });
