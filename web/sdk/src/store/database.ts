/** Database: the tables in IndexedDB, and how to connect to them. */

import { isStoreError, StoreError } from "./errors.ts";
import type { Medium, Query, TableKey, TableName, Tables } from "./tables.ts";

/** What of the browser a database needs. */
export interface DatabaseEnv {
  /** `indexedDB`; undefined where there is none. */
  readonly indexedDB: IDBFactory | undefined;
  /** `IDBKeyRange`, of the same make. */
  readonly IDBKeyRange: typeof globalThis.IDBKeyRange | undefined;
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
        try {
          t.abort();
        } catch {
          // It has ended already, by the same failure.
        }
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

/** The range of a query, undefined for all. */
function rangeOf(range: typeof IDBKeyRange, q: Query): IDBKeyRange | undefined {
  if (q.lower !== undefined && q.upper !== undefined) return range.bound(q.lower, q.upper, q.open ?? false);
  if (q.lower !== undefined) return range.lowerBound(q.lower, q.open ?? false);
  return q.upper === undefined ? undefined : range.upperBound(q.upper);
}

/** The tables of a transaction. A put that fails makes the transaction abort, which is where its error is told. */
export class DatabaseTables implements Tables {
  readonly #t: IDBTransaction;
  readonly #range: typeof IDBKeyRange;

  constructor(t: IDBTransaction, range: typeof IDBKeyRange) {
    this.#t = t;
    this.#range = range;
  }

  get(table: TableName, key: TableKey): Promise<unknown> {
    return result(this.#t.objectStore(table).get(key as IDBValidKey));
  }

  all(table: TableName, q: Query): Promise<unknown[]> {
    const store = this.#t.objectStore(table);
    const from = q.index === undefined ? store : store.index(q.index);
    if (q.limit !== undefined && q.limit <= 0) return Promise.resolve([]);
    if (!q.reverse) return result(from.getAll(rangeOf(this.#range, q), q.limit));
    return new Promise((resolve, reject) => {
      const found: unknown[] = [];
      const request = from.openCursor(rangeOf(this.#range, q), "prev");
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        if (cursor) found.push(cursor.value);
        if (!cursor || found.length === q.limit) resolve(found);
        else cursor.continue();
      };
    });
  }

  put(table: TableName, value: object): void {
    this.#t.objectStore(table).put(value);
  }

  delete(table: TableName, key: TableKey): void {
    this.#t.objectStore(table).delete(key as IDBValidKey);
  }
}

/** A connected database. */
export class Database implements Medium {
  readonly #db: IDBDatabase;
  readonly #range: typeof IDBKeyRange;

  /** gone is called where the browser closes the database: its data was cleared, or another tab upgrades it. */
  constructor(db: IDBDatabase, range: typeof IDBKeyRange, gone: () => void) {
    this.#db = db;
    this.#range = range;
    db.onversionchange = () => {
      db.close();
      gone();
    };
    db.onclose = gone;
  }

  run<T>(
    mode: "readonly" | "readwrite",
    f: (t: Tables) => Promise<T>,
    durability: "strict" | "relaxed" = "strict",
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let outcome: { value: T } | undefined;
      let failure: unknown;
      let t: IDBTransaction;
      try {
        t = this.#db.transaction(Array.from(this.#db.objectStoreNames), mode, { durability });
      } catch (e) {
        reject(storeError(e));
        return;
      }
      t.oncomplete = () => {
        if (outcome) resolve(outcome.value);
        else reject(new StoreError("failed", "the transaction ended before its work"));
      };
      t.onabort = () => reject(failure === undefined ? storeError(t.error) : failure);
      f(new DatabaseTables(t, this.#range)).then(
        (value) => {
          outcome = { value };
        },
        (e) => {
          failure = e instanceof Error && !isStoreError(e) ? storeError(e) : e;
          try {
            t.abort();
          } catch {
            reject(failure); // it has ended already
          }
        },
      );
    });
  }

  close(): void {
    this.#db.close();
  }
}
