/** Packages that the project does not depend on; found where npm puts them or in a folder of NODE_PATH. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The modules of some packages. @throws Error with one sentence that says how to add those. */
export function optional(modules: readonly string[], packages: string): readonly unknown[] {
  try {
    return modules.map((name) => require(name) as unknown);
  } catch (error) {
    throw new Error(`not installed (npm install --no-save ${packages})`, { cause: error });
  }
}
