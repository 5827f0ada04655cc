// Prints the cpu device, the paths it offers for a product, and whether each is right, as JSON.
const { devices, explain, matmulSync, tensor } = await import(new URL('../../dist/lib/index.js', import.meta.url).href);

const device = (await devices()).find(({ id }) => id === 'cpu');
const a = tensor(
  Float32Array.from({ length: 33 * 33 }, (_, i) => (i % 7) - 3),
  [33, 33],
);
const { ranking } = await explain('matmul', [a, a]);
const paths = ranking.map(({ path }) => path).filter((path) => path.startsWith('cpu:'));
const results = paths.map((backend) =>
  matmulSync(a, a, { backend }).data.every((y, at) => {
    let sum = 0;
    for (let k = 0; k < 33; k++) sum += a.data[Math.floor(at / 33) * 33 + k] * a.data[k * 33 + (at % 33)];
    return sum === y;
  }),
);
process.stdout.write(JSON.stringify({ device, paths, results }));
