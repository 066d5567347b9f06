/** An actor's data deleted from the browser, at the app's word. */

import { expect, it } from "vitest";
import { result } from "../../src/store/connect.ts";
import { type BrowserStoreOptions, deleteBrowserStore, openBrowserStore } from "../../src/tabs/browser.ts";
import type { TabEnv } from "../../src/tabs/env.ts";
import { keyOf } from "../../src/tabs/key.ts";
import type { StorageEnv } from "../../src/tabs/storage.ts";
import { dump, encode, tamper } from "../help/dump.ts";
import { nodeEnv } from "../help/node.ts";
import { add, apply, cursor, entry, foreign, list, refused } from "../store/suite/suite.ts";

function origin() {
  const env: TabEnv = { ...nodeEnv(), channel: () => undefined };
  const marks = new Map<string, string>();
  const storage: StorageEnv = {
    manager: undefined,
    marker: (name) => ({
      get: async () => marks.get(name),
      set: async (text) => void (text === "" ? marks.delete(name) : marks.set(name, text)),
    }),
  };
  const as = (actor: string, more: Partial<BrowserStoreOptions> = {}) => ({ actor, env, storage, ...more });
  const left = async () => [...(await env.indexedDB!.databases()).map((d) => d.name), ...marks.keys()].sort();
  return { env, as, left };
}

it("what the browser keeps of an actor is deleted with its key and its marker, and nobody else's", async () => {
  const { env, as, left } = origin();
  for (const actor of ["ann", "ben"]) {
    const { store } = await openBrowserStore(as(actor, { key: await keyOf(`hapax:${actor}`, env), encrypt: true }));
    await add(store, entry("r", 1));
    await store.close();
  }
  await deleteBrowserStore(as("ann"));
  expect(await left()).toEqual(["hapax:ben", "hapax:ben.key", "hapax:hapax:ben"]);
  // What begins anew is no loss.
  const { store, lost } = await openBrowserStore(as("ann"));
  expect([lost, store.report.created, await list(store)]).toEqual([false, true, []]);
  await store.close();
});

it("deleting what isn't there is no error, and makes nothing", async () => {
  const { as, left } = origin();
  await deleteBrowserStore(as("ann"));
  await deleteBrowserStore(as("ann", { name: "app" }));
  expect(await left()).toEqual([]);
});

it("another actor's store is left as it is", async () => {
  const { as, left } = origin();
  const { store } = await openBrowserStore(as("ann", { name: "app" }));
  await store.close();
  await refused(deleteBrowserStore(as("mallory", { name: "app" })), "wrong_store");
  expect(await left()).toEqual(["app", "hapax:app"]);
});

it("an open store of another tab ends with its data", async () => {
  const { as, left } = origin();
  const { store } = await openBrowserStore(as("ann"));
  await deleteBrowserStore(as("ann"));
  expect(await left()).toEqual([]);
  await refused(store.list(0, 1), "closed");
  await store.close();
});

it("forgetting all rooms leaves of a message that was set aside that there was one, and nothing of what it said", async () => {
  const { env, as } = origin();
  const { store } = await openBrowserStore(as("ann"));
  const fence = await store.drain();
  await apply(store, fence, { kind: "snapshot", room: "r", cursor: cursor(2), messages: foreign("r", 1, 2), now: 0 });
  await tamper(env.indexedDB!, "hapax:ann", async (t) => {
    const [m] = await result(t.objectStore("messages").getAll());
    t.objectStore("messages").put({ ...m, text: ["secret"] });
  });
  expect(await store.view("r", 0, 10)).toHaveLength(1);
  expect(encode(await dump(env.indexedDB!, "hapax:ann"))).toContain("secret");
  await store.forget("");
  expect(encode(await dump(env.indexedDB!, "hapax:ann"))).not.toMatch(/secret|row \d/);
  expect((await store.counts()).setAside).toBe(1);
  await store.close();
});
