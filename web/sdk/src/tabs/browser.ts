/** The browser's store with its tabs: what an app opens. */

import { ClientError } from "../errors.ts";
import { connect, type DatabaseEnv, drop, result } from "../store/connect.ts";
import { type Report, type Store, StoreError } from "../store/contract.ts";
import type { Head } from "../store/head.ts";
import { type DatabaseOptions, openDatabase, resetDatabase } from "../store/indexeddb.ts";
import type { StoreOptions } from "../store/open.ts";
import { actorOf, rowsOf } from "../store/owner.ts";
import { hex } from "../store/text.ts";
import { browserEnv, type TabEnv } from "./env.ts";
import { Leader } from "./leader.ts";
import { browserStorage, type StorageEnv } from "./storage.ts";

/** Options of openBrowserStore. */
export interface BrowserStoreOptions extends StoreOptions {
  /**
   * The actor that the app is signed in as. A store of another one is refused before anything of it is read or written
   * (`wrong_store`), also without a network.
   */
  readonly actor: string;
  /** The database's name, and that of its lock; "hapax:" and the actor if left out. One store belongs to one actor on one server. */
  readonly name?: string;
  /** @internal What of the browser is used; tests give their own. */
  readonly env?: TabEnv;
  /** @internal */
  readonly storage?: StorageEnv;
}

/** What openBrowserStore gives. */
export interface BrowserStore {
  readonly store: Store;
  /**
   * The browser threw away a store of this name that was here before: this one was made anew, and what was in that one's
   * outbox is lost. Known from a marker beside IndexedDB, so not where that was cleared as well.
   */
  readonly lost: boolean;
  /**
   * A store that an earlier version of this SDK named "hapax", for whoever was signed in, holds rows that this opening leaves
   * where they are, as they name no owner, or as this actor has a store under its own name. They are offered and never sent by
   * themselves: openBrowserStore with this name, and with `claim: true`, takes them.
   */
  readonly left: Left | undefined;
}

/** Rows in a store that was not opened. */
export interface Left {
  readonly name: string;
  /** How many, of whatever state. */
  readonly rows: number;
}

/** The default name until 0.1, the same for whoever was signed in. */
const oldName = "hapax";

/** The head of a database, undefined where there is none of the name, or none of ours. Nothing is made or changed. */
async function peek(env: DatabaseEnv, name: string): Promise<Head | undefined> {
  const none = () => Promise.reject(new Error("there is none"));
  const db = await connect(env, name, undefined, none).catch(() => undefined);
  try {
    if (!db?.objectStoreNames.contains("meta")) return undefined;
    const head = (await result(db.transaction("meta").objectStore("meta").get("head"))) as Head | undefined;
    return head?.app === "hapax" ? head : undefined;
  } catch {
    return undefined; // damaged: opening it by its name would say how
  } finally {
    db?.close();
  }
}

/**
 * Which store is the actor's where the app names none, and what is left in the one of the old name. That one is the actor's where
 * it notes this actor as its owner and there is none of the new name.
 */
async function find(env: DatabaseEnv, o: BrowserStoreOptions): Promise<{ name: string; left: Left | undefined }> {
  const own = `${oldName}:${o.actor}`;
  const old = await peek(env, oldName);
  if (!old) return { name: own, left: undefined };
  const of = actorOf(old);
  const rows = rowsOf(old);
  const its = of === o.actor || (of === undefined && rows > 0 && o.claim === true);
  if (its && !(await peek(env, own))) return { name: oldName, left: undefined };
  const offered = rows > 0 && (of === undefined || of === o.actor);
  return { name: own, left: offered ? { name: oldName, rows } : undefined };
}

async function options(o: BrowserStoreOptions): Promise<{ opts: DatabaseOptions; left: Left | undefined }> {
  if (typeof o.actor !== "string" || o.actor === "") {
    throw new ClientError("bad_option", "say as which actor the app is signed in: a store belongs to one");
  }
  const env = o.env ?? browserEnv();
  const { name, left } = o.name === undefined ? await find(env, o) : { name: o.name, left: undefined };
  const { limits = {}, key, encrypt, actor, claim } = o;
  return {
    opts: { limits, key, encrypt, actor, claim, name, env, lock: (beats) => new Leader(env, name, beats) },
    left,
  };
}

/**
 * Opens the actor's store of this origin, made where there is none. It rejects with a StoreError before anything is stored:
 * `unavailable` without IndexedDB (blocked, private mode), `quota`, `wrong_store` for one of another actor, `unowned` for one
 * whose rows name no owner, `incompatible` for a store of a newer SDK, `wrong_key`, `corrupt`. An app that can do without an
 * outbox that outlives its tab may then open a memory store.
 *
 * @throws ClientError `bad_option` without an actor
 */
export async function openBrowserStore(o: BrowserStoreOptions): Promise<BrowserStore> {
  const { opts, left } = await options(o);
  const store = await openDatabase(opts);
  const marker = (o.storage ?? browserStorage()).marker(`hapax:${opts.name}`);
  const device = hex(store.device);
  const before = (await marker.get()) || undefined;
  if (before !== device) await marker.set(device);
  return { store, lost: store.report.created && before !== undefined && before !== device, left };
}

/**
 * Makes a store that openBrowserStore found `incompatible` usable, on the app's word: marks and outbox rows are carried over,
 * messages and cursors dropped; see resetDatabase.
 */
export async function resetBrowserStore(o: BrowserStoreOptions): Promise<Report> {
  return resetDatabase((await options(o)).opts);
}

/**
 * Deletes all that this browser keeps of an actor: rooms, and what waits in the outbox, which no server will ever get then. Close
 * the client first; clients of other tabs on this store end. Without a name it takes the default one, with the key that storeKey
 * made under the same name, and the one of the old name where that is this actor's. Deleting what isn't there is no error.
 *
 * @throws StoreError `wrong_store` for another actor's; `unavailable` where the browser doesn't let it, or a frozen tab keeps it open
 */
export async function deleteBrowserStore(o: BrowserStoreOptions): Promise<void> {
  const { name } = (await options({ ...o, claim: false })).opts;
  const env = o.env ?? browserEnv();
  const names = o.name === undefined ? [...new Set([`${oldName}:${o.actor}`, name])] : [name];
  for (const n of names) {
    const of = actorOf((await peek(env, n)) ?? {});
    if (of !== undefined && of !== o.actor) throw new StoreError("wrong_store", "belongs to another actor");
  }
  for (const n of names) {
    await drop(env, n);
    await drop(env, `${n}.key`);
    await (o.storage ?? browserStorage()).marker(`hapax:${n}`).set("");
  }
}
