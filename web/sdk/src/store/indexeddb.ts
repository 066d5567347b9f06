/**
 * The browser's store: IndexedDB with strict durability. A change is done at the `complete` event of its transaction.
 *
 * The schema's version is kept in the store's own head and not by IndexedDB's number, which only ever rises: so a reset can
 * go back to this SDK's version in one transaction. Whatever the SDK doesn't know makes it refuse and change nothing.
 */

import { type Beats, beatsOf } from "./beats.ts";
import { connect, type DatabaseEnv, result, storeError } from "./connect.ts";
import { type Report, version } from "./contract.ts";
import { Database } from "./database.ts";
import { isStoreError, StoreError } from "./errors.ts";
import { type Head, parseHead } from "./head.ts";
import type { Lock } from "./lock.ts";
import { openTables, type StoreOptions } from "./open.ts";
import { actorOf, claims } from "./owner.ts";
import { build, hasTables, migrate, rebuild } from "./schema.ts";
import { Sealer } from "./seal.ts";
import type { TableStore } from "./store.ts";
import { hex } from "./text.ts";

/** Options of a store in IndexedDB. */
export interface DatabaseOptions extends StoreOptions {
  /** The database's name. */
  readonly name: string;
  readonly env: DatabaseEnv;
  /** Makes the handle's lock; gone tells it that the connection is. */
  lock(beats: Beats): Lock & { gone(): void };
}

/** How often opening tries again where other tabs upgrade at the same time. */
const maxRaces = 5;

/**
 * Opens the store of a name, made where there is none. Rejects with `unavailable` where there is no IndexedDB, `corrupt` for
 * a database that isn't a readable store, `incompatible` for one of a newer version, `wrong_store`, `unowned`,
 * `wrong_key`; none of them changes it.
 */
export async function openDatabase(o: DatabaseOptions): Promise<TableStore> {
  const range = o.env.IDBKeyRange!;
  for (let race = 0; race < maxRaces; race++) {
    let created = false;
    let from = version;
    const make = async (d: IDBDatabase, t: IDBTransaction) => {
      created = true;
      await build(d, t, range);
    };
    let db = await connect(o.env, o.name, undefined, make);
    if (!db) continue;
    const empty = db.objectStoreNames.length === 0; // somebody opened the name, and that was all
    if (empty || (await olderThan(db, o, version))) {
      const next = db.version + 1;
      db.close();
      db = await connect(o.env, o.name, next, async (d, t) => {
        if (empty && d.objectStoreNames.length === 0) await make(d, t);
        else from = await migrate(d, t, range);
      });
      if (!db) continue;
    }
    return finish(db, o, { created, from, to: version, setAside: 0 });
  }
  throw new StoreError("unavailable", "other tabs keep upgrading it");
}

/** Whether the database has an older version. Closes it where it is none of ours, or can't be used. */
async function olderThan(db: IDBDatabase, o: DatabaseOptions, than: number): Promise<boolean> {
  try {
    if (!db.objectStoreNames.contains("meta")) throw new StoreError("corrupt", "not a client's store");
    const head = await new Promise<unknown>((resolve, reject) => {
      const r = db.transaction("meta").objectStore("meta").get("head");
      r.onsuccess = () => resolve(r.result);
      r.onerror = () => reject(storeError(r.error));
    });
    const found = parseHead(head);
    const { version: is, keyCheck } = found;
    claims(found, o); // before the migration, which writes
    if (!hasTables(db, is)) throw new StoreError("corrupt", "it lacks a table");
    await new Sealer(o.key).check(keyCheck);
    return is < than;
  } catch (e) {
    db.close();
    throw storeError(e);
  }
}

async function finish(db: IDBDatabase, o: DatabaseOptions, report: Report): Promise<TableStore> {
  let lost = () => {};
  let device: string | undefined;
  const medium = new Database(
    db,
    o.env,
    () => lost(),
    () => again(o, device),
  );
  const lock = o.lock(beatsOf(medium));
  lost = () => lock.gone();
  try {
    const store = await openTables(medium, lock, o, report);
    device = hex(store.device);
    return store;
  } catch (e) {
    medium.close();
    lock.close();
    throw e;
  }
}

/** Opens the store of a device anew, and no other. */
async function again(o: DatabaseOptions, device: string | undefined): Promise<IDBDatabase> {
  const lost = new StoreError("closed", "the browser threw the store away, and what waited in it is lost");
  const db = await connect(o.env, o.name, undefined, () => Promise.reject(lost)).catch((e) => {
    throw isStoreError(e, "closed") ? lost : e;
  });
  try {
    if (!db?.objectStoreNames.contains("meta")) throw lost;
    const head = parseHead(await result(db.transaction("meta").objectStore("meta").get("head")));
    if (head.device && hex(head.device) === device) return db;
    throw lost;
  } catch (e) {
    db?.close();
    throw e;
  }
}

/**
 * Makes a store of a newer version usable, on the app's word: in one transaction it builds this SDK's schema anew, carries
 * over the marks and every outbox row, drops messages and cursors, and sets the version. An outbox row that this SDK can't
 * read is set aside with its bytes; the report counts them. Where it rejects nothing has changed: `corrupt` for a
 * database that is no store or has no outbox, `draining` while a tab drains it, `wrong_store`, `wrong_key`,
 * `not_encrypted`.
 */
export async function resetDatabase(o: DatabaseOptions): Promise<Report> {
  const range = o.env.IDBKeyRange!;
  const none = new StoreError("corrupt", "there is no store of this name");
  const db = await connect(o.env, o.name, undefined, () => Promise.reject(none));
  if (!db) throw none;
  const medium = new Database(db, o.env, () => {});
  const lock = o.lock(beatsOf(medium));
  try {
    const head = await medium.run("readonly", (t) =>
      db.objectStoreNames.contains("meta") ? t.get("meta", "head") : Promise.resolve(undefined),
    );
    const { keyCheck, ...whose } = (head ?? {}) as Partial<Head>;
    const actor = actorOf(whose);
    if (actor !== undefined && o.actor !== undefined && actor !== o.actor) {
      throw new StoreError("wrong_store", "belongs to another actor");
    }
    await new Sealer(o.key).check(keyCheck);
    if (o.key && !keyCheck) throw new StoreError("not_encrypted", "a key was given for a store that has none");
    if (!(await lock.take())) throw new StoreError("draining", "a tab drains it");
    medium.close();
    let report: Report | undefined;
    const again = await connect(o.env, o.name, db.version + 1, async (d, t) => {
      report = await rebuild(d, t, range);
    });
    again?.close();
    if (!report) throw new StoreError("failed", "another tab upgraded it meanwhile");
    return report;
  } finally {
    medium.close();
    lock.close();
  }
}
