/** The browser's store with its tabs: what an app opens. */

import type { Report, Store } from "../store/contract.ts";
import { type DatabaseOptions, openDatabase, resetDatabase } from "../store/indexeddb.ts";
import type { StoreOptions } from "../store/open.ts";
import { hex } from "../store/text.ts";
import { browserEnv, type TabEnv } from "./env.ts";
import { Leader } from "./leader.ts";
import { browserStorage, type StorageEnv } from "./storage.ts";

/** Options of openBrowserStore. */
export interface BrowserStoreOptions extends StoreOptions {
  /** The database's name, and that of its lock; "hapax" if left out. One store belongs to one actor on one server. */
  readonly name?: string;
  /** What of the browser is used; tests give their own. */
  readonly env?: TabEnv;
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
}

function options(o: BrowserStoreOptions): DatabaseOptions {
  const env = o.env ?? browserEnv();
  const name = o.name ?? "hapax";
  return { limits: o.limits ?? {}, key: o.key, name, env, lock: (beats) => new Leader(env, name, beats) };
}

/**
 * Opens the store of this origin, made where there is none. It rejects with a StoreError before anything is stored:
 * `unavailable` without IndexedDB (blocked, private mode), `quota`, `incompatible` for a store of a newer SDK, `wrong_key`,
 * `corrupt`. An app that can do without an outbox that outlives its tab may then open a memory store.
 */
export async function openBrowserStore(o: BrowserStoreOptions = {}): Promise<BrowserStore> {
  const opts = options(o);
  const store = await openDatabase(opts);
  const marker = (o.storage ?? browserStorage()).marker(`hapax:${opts.name}`);
  const device = hex(store.device);
  const before = await marker.get();
  if (before !== device) await marker.set(device);
  return { store, lost: store.report.created && before !== undefined && before !== device };
}

/**
 * Makes a store that openBrowserStore found `incompatible` usable, on the app's word: marks and outbox rows are carried over,
 * messages and cursors dropped; see resetDatabase.
 */
export function resetBrowserStore(o: BrowserStoreOptions = {}): Promise<Report> {
  return resetDatabase(options(o));
}
