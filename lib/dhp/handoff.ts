import { DhpError } from './errors.ts';
import { type IntentRequest, makeIntent } from './protocol/ids.ts';
import type { CheckpointRecord, Grant, Handoff, Json, ListFilter, State, Store } from './types.ts';

export interface Dispatched {
  readonly id: string;
  /** false when the same intent had been dispatched before: then this is that handoff. */
  readonly created: boolean;
  readonly state: State;
  /** The stored result when it is already completed, else null. */
  readonly result: Json | null;
}

/**
 * Puts work up for claiming. The same intent again is the same handoff, with its result if it has one; a `nonce` makes a
 * second one on purpose. `E_ARGUMENT`, `E_CANONICAL` or `E_SCHEMA` when the intent cannot be kept faithfully.
 */
export async function dispatch(store: Store, request: IntentRequest): Promise<Dispatched> {
  const { id, created } = await store.dispatch(makeIntent(request));
  const { state, result } = await status(store, id);
  return { id, created, state, result };
}

/** The handoff as stored; `E_NOT_FOUND` when there is none of that id. */
export async function status(store: Store, id: string): Promise<Handoff> {
  const handoff = await store.get(id);
  if (handoff === null) throw new DhpError('E_NOT_FOUND', `There is no handoff ${id} in this store`, { id });
  return handoff;
}

/** Handoffs in order of creation, page by page (`limit`, `after`). */
export function list(store: Store, filter: ListFilter = {}): Promise<readonly Handoff[]> {
  return store.list(filter);
}

const PAGE = 100;

/** Every handoff that the filter takes, in order of creation, read page by page as they are asked for. */
export async function* everyHandoff(store: Store, filter: ListFilter = {}): AsyncGenerator<Handoff> {
  let after: string | undefined;
  do {
    const page = await store.list({ ...filter, limit: PAGE, ...(after !== undefined && { after }) });
    yield* page;
    after = page.length === PAGE ? page.at(-1)?.id : undefined;
  } while (after !== undefined);
}

/** The newest checkpoint that is not quarantined, or null. A holder that goes on from it uses `ClaimContext.restore`. */
export function lastCheckpoint(store: Store, id: string): Promise<CheckpointRecord | null> {
  return store.lastCheckpoint(id);
}

/** Gives a dead handoff another chance; what is granted is recorded beside the intent, so the id stays. */
export function requeue(store: Store, id: string, grant: Grant = { attempts: 1 }): Promise<Handoff> {
  return store.requeue(id, grant);
}

/** Ends open work for good. Its holder, if any, learns of it within one heartbeat. */
export function cancel(store: Store, id: string): Promise<Handoff> {
  return store.cancel(id);
}
