import { createRequire } from 'node:module';

/** Version of this package, as its package.json says; the name resolves to the package itself wherever it is installed. */
export const PACKAGE_VERSION: string = (createRequire(import.meta.url)('uhop/package.json') as { version: string })
  .version;
