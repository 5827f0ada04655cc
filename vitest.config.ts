import { fileURLToPath } from 'node:url';
import type { ViteUserConfig } from 'vitest/config';

const dist = (path: string): string => fileURLToPath(new URL(`./dist/lib/${path}`, import.meta.url));

const config: ViteUserConfig = {
  resolve: {
    alias: [
      { find: /^uhop\/dhp$/, replacement: dist('dhp/index.js') },
      { find: /^uhop$/, replacement: dist('index.js') },
    ],
  },
  test: {
    include: ['tests/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ['default', './tests/support/closing-line.ts'],
    server: { deps: { external: [/\/dist\//] } },
  },
};

export default config;
