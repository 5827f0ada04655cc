/** The backends of this package; of equally fast paths the one listed first wins. */
import { cpu } from '../../backends/cpu.ts';
import { naive } from '../../backends/naive.ts';
import { createRuntime, type Runtime } from './runtime.ts';

export const runtime: Runtime = createRuntime([cpu, naive]);
