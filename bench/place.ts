/** Where things lie, from the sources and from dist/ alike. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

export const ROOT: string = packageRoot();

/** A path inside the package. */
export const inPackage = (...parts: readonly string[]): string => join(ROOT, ...parts);
