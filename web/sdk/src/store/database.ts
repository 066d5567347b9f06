/** Database: the tables in IndexedDB. */

import { delay } from "../session/delay.ts";
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

  clear(table: TableName): void {
    this.#t.objectStore(table).clear();
  }
}

/** What a transaction fails by that was aborted because the page is being frozen. */
const paused = Symbol("paused");

/** What a transaction fails by that the browser ended with its connection: it has changed nothing. */
const dropped = Symbol("dropped");

const ended = () => Promise.reject(new StoreError("closed", "the browser closed the database"));

/** Between attempts to open a database anew that the browser closed: the delay law's bounds, ms. */
const reopenBase = 1_000;
const reopenCap = 300_000;

/**
 * A connected database. Where the browser closes the connection by itself, for want of storage or at the user's wish, it is opened
 * anew by what needs it next: at once, and where that fails by the delay law. Who waits sees nothing of it where the data is still
 * there; where it isn't, the handle has ended. A frozen page must not hold up the other tabs: a transaction that is open when it is frozen would do
 * so for as long as it stays frozen. So those are aborted, and run again when the page comes back, as does all that is
 * begun in between; nobody who waits sees more than a delay.
 */
export class Database implements Medium {
  #db: IDBDatabase;
  readonly #env: DatabaseEnv;
  readonly #gone: () => void;
  readonly #again: () => Promise<IDBDatabase>;
  readonly #range: typeof IDBKeyRange;
  readonly #open = new Set<IDBTransaction>();
  readonly #paused = new WeakSet<IDBTransaction>();
  readonly #unlisten: () => void;
  /** Resolves when the page comes back; undefined while it isn't frozen. */
  #frozen: Promise<void> | undefined;
  #thaw = () => {};
  /** Why nothing can be done any more. */
  #over: StoreError | undefined;
  #closed = false;
  /** The browser closed the connection, and it isn't opened anew yet. */
  #dropped = false;
  #opening: Promise<void> | undefined;
  #failures = 0;
  /** Why it couldn't be opened anew, until the next attempt may be made. */
  #resting: StoreError | undefined;
  #stopRest = () => {};

  /**
   * @param gone is called where the database is no more: it was deleted, or another tab upgrades it
   * @param again opens the same store anew; a StoreError `closed` says that it isn't there any more
   */
  constructor(db: IDBDatabase, env: DatabaseEnv, gone: () => void, again: () => Promise<IDBDatabase> = ended) {
    this.#db = db;
    this.#env = env;
    this.#gone = gone;
    this.#again = again;
    this.#range = env.IDBKeyRange!;
    this.#listen(db);
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
    for (let drops = 0; ; ) {
      if (this.#frozen) await this.#frozen;
      if (this.#dropped) await this.#connect();
      try {
        return await this.#once(mode, f, durability);
      } catch (e) {
        if (e === paused) continue;
        if (e !== dropped) throw e;
        this.#dropped = true;
        if (++drops > 1) throw new StoreError("closed", "the browser closed the database");
      }
    }
  }

  /** The next use opens it anew, if it has to be, whatever the delay law says. */
  tryNow(): void {
    this.#stopRest();
    this.#resting = undefined;
  }

  #listen(db: IDBDatabase): void {
    db.onversionchange = ({ newVersion }) => {
      this.#end(
        newVersion === null
          ? new StoreError("closed", "the store was deleted")
          : new StoreError("reload", "a newer version of the app upgraded the store"),
      );
    };
    db.onclose = () => {
      if (db === this.#db) this.#dropped = true;
    };
  }

  #end(why: StoreError): void {
    this.#over ??= why;
    this.#db.close();
    this.#gone();
  }

  /** Opens the database anew, once for all who need it. */
  async #connect(): Promise<void> {
    if (this.#closed || this.#over) return; // the transaction says why
    if (this.#resting) throw this.#resting;
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  async #reopen(): Promise<void> {
    this.#db.close();
    try {
      const db = await this.#again();
      if (this.#closed || this.#over) return db.close();
      this.#db = db;
      this.#listen(db);
      this.#dropped = false;
      this.#failures = 0;
    } catch (e) {
      const error = storeError(e, "unavailable");
      if (error.code === "closed") {
        this.#end(error);
      } else {
        this.#resting = error;
        const rest = delay(reopenBase, reopenCap, ++this.#failures, Math.random());
        this.#stopRest = this.#env.after(rest, () => {
          this.#resting = undefined;
        });
      }
      throw error;
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
        const lost = !this.#closed && !this.#over && (e as DOMException).name === "InvalidStateError";
        reject(lost ? dropped : (this.#over ?? storeError(e)));
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
        if (this.#paused.has(t)) return reject(paused);
        const error = failure === undefined ? storeError(t.error) : failure;
        reject(isStoreError(error, "closed") && !this.#closed ? (this.#over ?? dropped) : error);
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
    this.#closed = true;
    this.#stopRest();
    this.#unlisten();
    this.#thaw(); // who waits learns that it is closed
    this.#db.close();
  }
}
