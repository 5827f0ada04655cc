/** Runs a bound call on the first candidate that manages it. */
import { type Operands, type ResultTensor, UhopError } from '../../backends/contract.ts';
import type { Bound } from '../ops/bind.ts';
import { lengthOf } from '../ops/typed-arrays.ts';
import { fallBack, noteMissingAddon } from './fallback.ts';
import { deliver, inPlace, snapshot } from './memory.ts';
import { isSync, type Runtime } from './runtime.ts';
import { type Forced, select } from './select.ts';

export function executeSync(runtime: Runtime, bound: Bound, forced: Forced | undefined): ResultTensor {
  const { call } = bound;
  let candidates = select(runtime, runtime.backends.filter(isSync), call, forced);
  if (!forced) noteMissingAddon(runtime, call, candidates[0]);
  const operands = inPlace(bound);
  for (;;) {
    const [candidate, ...rest] = candidates;
    try {
      if (lengthOf(operands.out) > 0) candidate.backend.runSync(candidate.path, call, operands);
      return answer(bound, operands, candidate.path.id);
    } catch (error) {
      candidates = fallBack(runtime, call, candidate, rest, error);
    }
  }
}

/**
 * As `executeSync`, but paths that take their time run beside the event loop. Everything up to the first of those,
 * its snapshot included, happens before this returns.
 */
export async function execute(
  runtime: Runtime,
  bound: Bound,
  forced: Forced | undefined,
  options: { readonly signal: AbortSignal | undefined; readonly borrow: boolean },
): Promise<ResultTensor> {
  const { call } = bound;
  const { signal, borrow } = options;
  if (signal?.aborted) {
    throw new UhopError('E_ABORTED', `${call.op} was aborted before it began`, {}, signal.reason);
  }
  let candidates = select(runtime, runtime.backends, call, forced);
  if (!forced) noteMissingAddon(runtime, call, candidates[0]);
  let owned: Operands | undefined;
  for (;;) {
    const [{ backend, path }, ...rest] = candidates;
    try {
      const inside = path.inline && isSync(backend);
      if (!inside) owned ??= snapshot(bound, borrow);
      const operands = owned ?? inPlace(bound);
      if (lengthOf(operands.out) > 0) {
        if (inside) backend.runSync(path, call, operands);
        else await backend.run(path, call, operands, { signal });
      }
      return answer(bound, operands, path.id);
    } catch (error) {
      candidates = fallBack(runtime, call, { backend, path }, rest, error);
    }
  }
}

function answer(bound: Bound, { out }: Operands, path: string): ResultTensor {
  const { outShape, dtype } = bound.call;
  return { data: deliver(bound, out), shape: [...outShape], dtype, path };
}
