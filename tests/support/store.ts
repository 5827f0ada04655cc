import { dispatch, type Handoff, type Json, openStore, type Store } from 'uhop/dhp';
import { tempDir } from './handoffs.ts';

/** A SQLite store in a folder of its own, removed with it. */
export interface TempStore extends AsyncDisposable {
  readonly store: Store;
  readonly url: string;
}

export async function tempStore(): Promise<TempStore> {
  const folder = await tempDir();
  const store = await openStore(folder.path);
  return {
    store,
    url: folder.path,
    async [Symbol.asyncDispose]() {
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

let made = 0;

/** Dispatches a handoff that nobody else has; its result has to be `{ n: integer }`. */
export async function aHandoff(
  store: Store,
  more: { readonly budget?: Record<string, number>; readonly inputs?: Json } = {},
): Promise<string> {
  made += 1;
  const { id } = await dispatch(store, {
    taskKind: 'test/count',
    inputs: null,
    outputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    nonce: `${process.pid}-${made}`,
    ...more,
  });
  return id;
}

/** Waits until `probe` answers something other than undefined, null or false. */
export async function eventually<T>(probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value as NonNullable<T>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function inState(store: Store, id: string, state: Handoff['state']): Promise<Handoff> {
  return eventually(async () => {
    const handoff = await store.get(id);
    return handoff?.state === state ? handoff : undefined;
  });
}
