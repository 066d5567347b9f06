/** How firmly the browser keeps what is stored, and whether it did. */

/** A place beside IndexedDB for one short text. Where there is none it holds nothing. */
export interface Marker {
  get(): Promise<string | undefined>;
  /** Notes a text; "" removes what is noted. */
  set(text: string): Promise<void>;
}

/** What of the browser is used for it. */
export interface StorageEnv {
  marker(name: string): Marker;
  /** `navigator.storage`; undefined where there is none. */
  readonly manager:
    | {
        persist(): Promise<boolean>;
        persisted(): Promise<boolean>;
        estimate(): Promise<{ readonly usage?: number; readonly quota?: number }>;
      }
    | undefined;
}

/** What the browser says of this origin's storage. */
export interface StorageState {
  /** It won't be thrown away to make room; undefined where the browser doesn't say. */
  readonly persistent: boolean | undefined;
  /** Bytes used and allowed, by the browser's estimate; undefined where it doesn't say. */
  readonly usage: number | undefined;
  readonly quota: number | undefined;
}

/** Reads what the browser says; with `ask` it is asked first to keep the storage, which may ask the user. */
export function storageState(ask: boolean): Promise<StorageState> {
  return stateOf(ask, browserStorage());
}

/** @internal storageState of a storage of its own. */
export async function stateOf(ask: boolean, env: StorageEnv): Promise<StorageState> {
  const m = env.manager;
  const persistent = await (ask ? m?.persist() : m?.persisted())?.catch(() => undefined);
  const { usage, quota } = (await m?.estimate().catch(() => undefined)) ?? {};
  return { persistent, usage, quota };
}

/** A marker in localStorage, or, where there is none (workers), in the Cache. */
function browserMarker(name: string): Marker {
  const url = `/${encodeURIComponent(name)}`;
  const local = (): Storage | undefined => globalThis.localStorage;
  return {
    async get() {
      try {
        if (local()) return local()!.getItem(name) ?? undefined;
        return await (await (await caches.open(name)).match(url))?.text();
      } catch {
        return undefined; // blocked: then nothing is known
      }
    },
    async set(text) {
      try {
        if (local()) text === "" ? local()!.removeItem(name) : local()!.setItem(name, text);
        else if (text === "") await caches.delete(name);
        else await (await caches.open(name)).put(url, new Response(text));
      } catch {
        // Blocked or full: then a loss goes unnoticed, which the store itself must not fail for.
      }
    },
  };
}

/** The browser's own. */
export function browserStorage(): StorageEnv {
  return { marker: browserMarker, manager: globalThis.navigator?.storage };
}
