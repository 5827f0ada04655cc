import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../support/worker-cycles.mjs', import.meta.url));

describe('worker_threads that are terminated in mid-product', () => {
  it.each(['with-main', 'workers-only'])('leave the process whole (%s)', (mode) => {
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [script, mode], { encoding: 'utf8' });
    expect({ status, signal, stdout, stderr }).toEqual({ status: 0, signal: null, stdout: '50 cycles\n', stderr: '' });
  });
});
