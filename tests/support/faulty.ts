import type { Store } from 'uhop/dhp';

/** The same store, but for what `faults` puts in the place of its methods. */
export function faulty(store: Store, faults: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, key) {
      if (key in faults) return Reflect.get(faults, key);
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
