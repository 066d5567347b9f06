import { describe, expect, it } from "vitest";
import { version } from "../../src/store/contract.ts";
import { openBrowserStore, resetBrowserStore } from "../../src/tabs/browser.ts";
import { type StorageEnv, stateOf } from "../../src/tabs/storage.ts";
import { tamper } from "../help/dump.ts";
import { nodeEnv } from "../help/node.ts";
import { add, entry, list, refused } from "../store/suite/suite.ts";

/** Storage beside IndexedDB that holds one text a name. */
function beside(manager?: Partial<StorageManager>): StorageEnv {
  const kept = new Map<string, string>();
  return {
    manager: manager as StorageEnv["manager"],
    marker: (name) => ({
      get: async () => kept.get(name),
      set: async (text) => void kept.set(name, text),
    }),
  };
}

const drop = (factory: IDBFactory, name: string) =>
  new Promise((resolve) => {
    factory.deleteDatabase(name).onsuccess = resolve;
  });

describe("a store that the browser threw away", () => {
  it("is missed, and only then", async () => {
    const env = nodeEnv();
    const o = { name: "store", actor: "ann", env, storage: beside() };
    const open = async () => {
      const { store, lost } = await openBrowserStore(o);
      await store.close();
      return lost;
    };
    expect([await open(), await open()]).toEqual([false, false]);
    await drop(env.indexedDB!, "store");
    expect([await open(), await open()]).toEqual([true, false]);
  });

  it("goes unnoticed where there is nothing beside it, and works", async () => {
    const nothing: StorageEnv = {
      manager: undefined,
      marker: () => ({ get: async () => undefined, set: async () => {} }),
    };
    const { store, lost } = await openBrowserStore({ actor: "ann", env: nodeEnv(), storage: nothing });
    await add(store, entry("r", 1));
    expect(lost).toBe(false);
    await store.close();
  });
});

describe("a store of a newer SDK", () => {
  it("is refused, and usable after a reset on the app's word", async () => {
    const o = { name: "store", actor: "ann", env: nodeEnv(), storage: beside() };
    const { store } = await openBrowserStore(o);
    await add(store, entry("r", 1));
    await store.close();
    await tamper(o.env.indexedDB!, "store", (t) => {
      const head = t.objectStore("meta").get("head");
      head.onsuccess = () => t.objectStore("meta").put({ ...head.result, version: 9 });
    });
    await refused(openBrowserStore(o), "incompatible");
    expect(await resetBrowserStore(o)).toMatchObject({ from: 9, to: version, setAside: 0 });
    const again = await openBrowserStore(o);
    expect([again.lost, (await list(again.store)).length]).toEqual([false, 1]);
    await again.store.close();
  });
});

describe("what the browser says of storage", () => {
  const says = (persisted: boolean) => {
    const asked: string[] = [];
    const manager = {
      persist: async () => asked.push("persist") > 0,
      persisted: async () => persisted,
      estimate: async () => ({ usage: 10, quota: 100 }),
    };
    return { asked, env: beside(manager) };
  };

  it("is told, and asked for only on the app's word", async () => {
    const { asked, env } = says(false);
    expect(await stateOf(false, env)).toEqual({ persistent: false, usage: 10, quota: 100 });
    expect(asked).toEqual([]);
    expect(await stateOf(true, env)).toEqual({ persistent: true, usage: 10, quota: 100 });
    expect(asked).toEqual(["persist"]);
  });

  it("is unknown where it says nothing, or fails", async () => {
    const unknown = { persistent: undefined, usage: undefined, quota: undefined };
    expect(await stateOf(true, beside())).toEqual(unknown);
    const failing = () => Promise.reject(new Error("no"));
    expect(await stateOf(true, beside({ persist: failing, estimate: failing }))).toEqual(unknown);
  });
});
