/** Database: the tables in IndexedDB. */

import { abort, type DatabaseEnv, result, storeError } from "./connect.ts";
import { isStoreError, StoreError } from "./errors.ts";
import type { Medium, Query, TableKey, TableName, Tables } from "./tables.ts";

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

/** What a transaction fails by that was aborted because the page is being frozen. */
const paused = Symbol("paused");

/**
 * A connected database. A frozen page must not hold up the other tabs: a transaction that is open when it is frozen would do
 * so for as long as it stays frozen. So those are aborted, and run again when the page comes back, as does all that is
 * begun in between; nobody who waits sees more than a delay.
 */
export class Database implements Medium {
  readonly #db: IDBDatabase;
  readonly #range: typeof IDBKeyRange;
  readonly #open = new Set<IDBTransaction>();
  readonly #paused = new WeakSet<IDBTransaction>();
  readonly #unlisten: () => void;
  /** Resolves when the page comes back; undefined while it isn't frozen. */
  #frozen: Promise<void> | undefined;
  #thaw = () => {};
  /** Why nothing can be done any more: another tab has given the database a version that this code may not know. */
  #upgraded: StoreError | undefined;

  /** gone is called where the browser closes the database: its data was cleared, or another tab upgrades it. */
  constructor(db: IDBDatabase, env: DatabaseEnv, gone: () => void) {
    this.#db = db;
    this.#range = env.IDBKeyRange!;
    db.onversionchange = ({ newVersion }) => {
      if (newVersion !== null)
        this.#upgraded = new StoreError("reload", "a newer version of the app upgraded the store");
      db.close();
      gone();
    };
    db.onclose = gone;
    this.#unlisten = env.page.listen((event) => {
      if (event === "freeze") this.#freeze();
      else if (event === "resume") this.#thaw();
    });
  }

  async run<T>(
    mode: "readonly" | "readwrite",
    f: (t: Tables) => Promise<T>,
    durability: "strict" | "relaxed" = "strict",
  ): Promise<T> {
    for (;;) {
      if (this.#frozen) await this.#frozen;
      try {
        return await this.#once(mode, f, durability);
      } catch (e) {
        if (e !== paused) throw e;
      }
    }
  }

  #freeze(): void {
    if (this.#frozen) return;
    this.#frozen = new Promise((resolve) => {
      this.#thaw = () => {
        this.#frozen = undefined;
        this.#thaw = () => {};
        resolve();
      };
    });
    // One that commits already needs the page no more.
    for (const t of this.#open) if (abort(t)) this.#paused.add(t);
  }

  #once<T>(mode: IDBTransactionMode, f: (t: Tables) => Promise<T>, durability: "strict" | "relaxed"): Promise<T> {
    return new Promise((resolve, reject) => {
      let outcome: { value: T } | undefined;
      let failure: unknown;
      let t: IDBTransaction;
      try {
        t = this.#db.transaction(Array.from(this.#db.objectStoreNames), mode, { durability });
      } catch (e) {
        reject(this.#upgraded ?? storeError(e));
        return;
      }
      this.#open.add(t);
      t.oncomplete = () => {
        this.#open.delete(t);
        if (outcome) resolve(outcome.value);
        else reject(new StoreError("failed", "the transaction ended before its work"));
      };
      const fail = () => {
        this.#open.delete(t);
        reject(this.#paused.has(t) ? paused : failure === undefined ? storeError(t.error) : failure);
      };
      t.onabort = fail;
      f(new DatabaseTables(t, this.#range)).then(
        (value) => {
          outcome = { value };
        },
        (e) => {
          failure ??= e instanceof Error && !isStoreError(e) ? storeError(e) : e;
          if (!abort(t)) fail();
        },
      );
    });
  }

  close(): void {
    this.#unlisten();
    this.#thaw(); // who waits learns that it is closed
    this.#db.close();
  }
}
