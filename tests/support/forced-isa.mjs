// Prints the probe of the cpu backend, the paths on offer and a product, as JSON.
const { cpu } = await import(new URL('../../dist/backends/cpu.js', import.meta.url).href);

const numbers = { op: 'matmul', dtype: 'f32', precision: 'strict', M: 33, N: 33, K: 33 };
const flags = { transposeA: false, transposeB: false, bias: 'none', activation: 'none' };
const batch = { batch: [], batchStridesA: [], batchStridesB: [], outShape: [33, 33] };
const call = { ...numbers, ...flags, ...batch };

const [device] = cpu.probeSync();
const paths = cpu.paths(call);
const results = paths.map((path) => {
  const a = Float32Array.from({ length: 33 * 33 }, (_, i) => (i % 7) - 3);
  const out = new Float32Array(33 * 33);
  cpu.runSync(path, call, { inputs: [a, a], out });
  return [...out].every((y, at) => {
    let sum = 0;
    for (let k = 0; k < 33; k++) sum += a[Math.floor(at / 33) * 33 + k] * a[k * 33 + (at % 33)];
    return sum === y;
  });
});
process.stdout.write(JSON.stringify({ device, paths: paths.map(({ id }) => id), results }));
