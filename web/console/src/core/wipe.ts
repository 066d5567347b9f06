/** What this browser keeps of an actor, and how a sign-out takes it away. */

import {
  type BrowserStoreOptions,
  deleteBrowserStore,
  isStoreError,
  openBrowserStore,
  resetBrowserStore,
  type Store,
} from "@hapax/client";
import { forgetDrafts } from "../rooms/drafts.ts";
import { forgetSeen } from "../rooms/seen.ts";
import { type Mark, readMark, writeMark } from "./mark.ts";
import { forgetStoreNames, storeNames } from "./store-name.ts";

/** An actor's store. Its name says whose it is, so rows in it that name no owner yet are theirs. */
export const storeOf = (who: string, name: string): BrowserStoreOptions => ({ name, actor: who, claim: true });

/** How many rows of an actor wait in this browser, in all their stores, and how many of those can't be read. */
export async function waitingOf(who: string): Promise<{ readonly rows: number; readonly damaged: number }> {
  let rows = 0;
  let damaged = 0;
  for (const name of storeNames(who)) {
    try {
      const { store } = await openBrowserStore(storeOf(who, name));
      rows += await rowsOf(store).finally(() => store.close());
    } catch (e) {
      if (!isStoreError(e, "unavailable")) damaged++; // where there is no storage nothing waits in it
    }
  }
  return { rows, damaged };
}

async function rowsOf(store: Store): Promise<number> {
  const { queued, parked, uncertain } = await store.counts();
  let rows = queued + parked + uncertain;
  for await (const a of store.setAside()) if (a.table === "outbox") rows++;
  return rows;
}

/**
 * Ends what a sign-out began, here or in another tab: what the browser keeps of the actor goes, the outbox only where that was said. One
 * tab does it at a time. Nothing is done for a sign-out after which the actor signed in again.
 */
export function wipe(who: string, { ins, how }: Pick<Mark, "ins" | "how">): Promise<void> {
  return alone(who, async () => {
    if (readMark(who).ins !== ins) return;
    forgetDrafts(who);
    forgetSeen(who);
    if (!allowed()) return; // what may be there is wiped once the browser lets the page near it
    for (const name of storeNames(who)) {
      if (how === "delete" || !(await emptied(storeOf(who, name)))) await deleteBrowserStore(storeOf(who, name));
    }
    if (how === "delete") forgetStoreNames(who);
    writeMark(who, { done: true });
  });
}

/** Ends a wipe that was cut short, before anything is read or written as that actor. */
export function settleWipe(who: string): Promise<void> {
  const mark = readMark(who);
  return mark.done ? Promise.resolve() : wipe(who, mark);
}

/** Takes all but the outbox out of a store, and answers whether anything waits there. */
async function emptied(o: BrowserStoreOptions): Promise<boolean> {
  const store = await openAnyhow(o);
  if (store === undefined) return true;
  try {
    await store.forget("");
    return (await rowsOf(store)) > 0;
  } finally {
    await store.close();
  }
}

/** Undefined for a store that can't be read: nobody could tell what waits in it. */
async function openAnyhow(o: BrowserStoreOptions): Promise<Store | undefined> {
  try {
    return (await openBrowserStore(o)).store;
  } catch (e) {
    if (isStoreError(e, "corrupt")) return undefined;
    if (!isStoreError(e, "incompatible")) throw e;
    await resetBrowserStore(o);
    return (await openBrowserStore(o)).store;
  }
}

/** Whether the browser lets the page have databases at all. */
function allowed(): boolean {
  try {
    return globalThis.indexedDB !== undefined;
  } catch {
    return false;
  }
}

function alone(who: string, f: () => Promise<void>): Promise<void> {
  const locks = (navigator as Partial<Navigator>).locks;
  return locks === undefined ? f() : locks.request(`hapax.wipe:${who}`, f);
}
