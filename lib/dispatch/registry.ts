/** The backends of this package, of equals the preferred one first. */
import { naive } from '../../backends/naive/index.ts';
import { createRuntime, type Runtime } from './runtime.ts';

export const runtime: Runtime = createRuntime([naive]);
