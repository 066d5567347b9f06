/** Connecting to IndexedDB, and its failures in the store's words. */

import { isStoreError, StoreError } from "./errors.ts";

/**
 * What the page's life looks like from inside. `leave` comes before the page is left, maybe for good; `freeze` before nothing in
 * it runs any more, until `resume`.
 */
export type PageEvent = "hidden" | "visible" | "leave" | "freeze" | "resume";

/** The page, or a worker, which is never hidden or frozen as far as it can tell. */
export interface Page {
  hidden(): boolean;
  /** Calls f with events until the function returned is called. */
  listen(f: (event: PageEvent) => void): () => void;
}

/** What of the browser a database needs. */
export interface DatabaseEnv {
  /** `indexedDB`; undefined where there is none. */
  readonly indexedDB: IDBFactory | undefined;
  /** `IDBKeyRange`, of the same make. */
  readonly IDBKeyRange: typeof globalThis.IDBKeyRange | undefined;
  readonly page: Page;
  /** Calls f after some ms unless the function returned is called before. */
  after(ms: number, f: () => void): () => void;
}

/** How long an upgrade waits for tabs that keep the older version open; ours close at once, frozen ones can't. */
const blockedFor = 10_000;

/** A failure of the browser in the store's words. */
export function storeError(e: unknown, otherwise: "failed" | "unavailable" = "failed"): StoreError {
  if (isStoreError(e)) return e;
  const name = (e as DOMException | null)?.name;
  if (name === "QuotaExceededError") return new StoreError("quota", "the browser gives no more room", e);
  if (otherwise === "failed" && (!e || name === "InvalidStateError" || name === "AbortError")) {
    return new StoreError("closed", "the browser closed the database", e);
  }
  return new StoreError(otherwise, otherwise === "failed" ? String(e) : `no IndexedDB here: ${e}`, e);
}

/** A request's result. */
export function result<T>(r: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    r.onsuccess = () => resolve(r.result);
    r.onerror = () => reject(r.error);
  });
}

/**
 * Opens a database, of a version where one is given. upgrade runs in the transaction of a new version; where it fails,
 * nothing has changed. `unavailable` where there is no IndexedDB or it doesn't open; undefined where another tab has
 * brought it to a newer version meanwhile.
 */
export function connect(
  env: DatabaseEnv,
  name: string,
  version: number | undefined,
  upgrade: (db: IDBDatabase, t: IDBTransaction, old: number) => Promise<void>,
): Promise<IDBDatabase | undefined> {
  return new Promise((resolve, reject) => {
    let failure: unknown;
    let given = false;
    let stop = () => {};
    const fail = (e: StoreError) => {
      given = true;
      stop();
      reject(e);
    };
    let request: IDBOpenDBRequest;
    try {
      if (!env.indexedDB) throw new Error("it is missing");
      request = env.indexedDB.open(name, version);
    } catch (e) {
      fail(storeError(e, "unavailable"));
      return;
    }
    request.onblocked = () => {
      stop = env.after(blockedFor, () => fail(new StoreError("unavailable", "a tab keeps an older version open")));
    };
    request.onupgradeneeded = (event) => {
      const t = request.transaction!;
      upgrade(request.result, t, event.oldVersion).catch((e) => {
        failure = e;
        abort(t); // or it has ended already, by the same failure
      });
    };
    request.onerror = () => {
      stop();
      if (request.error?.name === "VersionError") resolve(undefined);
      else fail(storeError(failure ?? request.error, "unavailable"));
    };
    request.onsuccess = () => {
      stop();
      if (given) request.result.close();
      else resolve(request.result);
    };
  });
}

/**
 * Deletes a database, also where there is none. Other tabs' connections to it end; `unavailable` where one that is frozen keeps
 * its own: the database goes when that does.
 */
export function drop(env: DatabaseEnv, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let stop = () => {};
    try {
      if (!env.indexedDB) throw new Error("it is missing");
      const request = env.indexedDB.deleteDatabase(name);
      request.onblocked = () => {
        stop = env.after(blockedFor, () => reject(new StoreError("unavailable", "a tab keeps it open")));
      };
      request.onerror = () => reject(storeError(request.error, "unavailable"));
      request.onsuccess = () => {
        stop();
        resolve();
      };
    } catch (e) {
      reject(storeError(e, "unavailable"));
    }
  });
}

/** Aborts a transaction; false where it has ended already, or commits. */
export function abort(t: IDBTransaction): boolean {
  try {
    t.abort();
    return true;
  } catch {
    return false;
  }
}
