/** Whose a store is: told when it is opened, and held against its owner before anything of it is read or written. */

import { describe, expect, it } from "vitest";
import { MemoryMedium, openMemoryStore } from "../../src/store/memory.ts";
import { openBrowserStore, resetBrowserStore } from "../../src/tabs/browser.ts";
import type { TabEnv } from "../../src/tabs/env.ts";
import { dump, encode, tamper } from "../help/dump.ts";
import { nodeEnv } from "../help/node.ts";
import { add, entry, list, refused } from "../store/suite/suite.ts";
import { Rig } from "../support/rig.ts";

const nowhere = { manager: undefined, marker: () => ({ get: async () => undefined, set: async () => {} }) };
const server = "s1";

/** An origin, and its stores as an actor opens them. */
function origin() {
  const env: TabEnv = { ...nodeEnv(), channel: () => undefined };
  const store = (actor: string, o: { name?: string; claim?: boolean } = {}) =>
    openBrowserStore({ actor, env, storage: nowhere, ...o });
  /** A store as an earlier SDK left it: it knew an owner from the first welcome on, and no actor. */
  const older = async (name: string, owner: string | undefined, rows: number) => {
    const { store: s } = await store("nobody", { name });
    if (rows > 0) await add(s, ...Array.from({ length: rows }, (_, i) => entry("r", i + 1)));
    await s.close();
    await tamper(env.indexedDB!, name, (t) => {
      const head = t.objectStore("meta").get("head");
      head.onsuccess = () => {
        const { actor: _, ...rest } = head.result;
        t.objectStore("meta").put(owner === undefined ? rest : { ...rest, owner: { actor: owner, server } });
      };
    });
  };
  const names = async () => (await env.indexedDB!.databases()).map((d) => d.name).sort();
  return { env, store, older, names };
}

describe("a store", () => {
  it("opened by a name is refused to another actor, with and without a welcome, and nothing of it changes", async () => {
    const { env, store, names } = origin();
    const { store: hers } = await store("alice", { name: "app" });
    expect(await hers.owner()).toEqual({ actor: "alice", server: "" });
    await add(hers, entry("r", 1));
    await refused(store("mallory", { name: "app" }), "wrong_store");
    await hers.bind({ actor: "alice", server });
    await hers.close();
    const before = encode(await dump(env.indexedDB!, "app"));
    await refused(store("mallory", { name: "app" }), "wrong_store");
    await refused(store("mallory", { name: "app", claim: true }), "wrong_store");
    await refused(resetBrowserStore({ actor: "mallory", name: "app", env }), "wrong_store");
    expect(encode(await dump(env.indexedDB!, "app"))).toBe(before);
    expect(await names()).toEqual(["app"]);
    const again = await store("alice", { name: "app" });
    expect((await list(again.store)).length).toBe(1);
    await again.store.close();
  });

  it("is bound to no other actor than the one it was opened for", async () => {
    const { store } = origin();
    const { store: s } = await store("alice");
    await refused(s.bind({ actor: "mallory", server }), "wrong_store");
    expect(await s.owner()).toEqual({ actor: "alice", server: "" });
    await s.bind({ actor: "alice", server });
    await refused(s.bind({ actor: "alice", server: "another" }), "wrong_store");
    await s.close();
  });

  it("without a name is another one for each actor", async () => {
    const { store, names } = origin();
    const { store: a } = await store("alice");
    await add(a, entry("r", 1));
    await a.close();
    const { store: m, left } = await store("mallory");
    expect([await list(m), left]).toEqual([[], undefined]);
    await m.close();
    expect(await names()).toEqual(["hapax:alice", "hapax:mallory"]);
  });

  it("is not opened without an actor", async () => {
    const { env, names } = origin();
    for (const actor of ["", undefined, 7]) {
      await expect(openBrowserStore({ actor: actor as string, env, storage: nowhere })).rejects.toMatchObject({
        code: "bad_option",
      });
    }
    expect(await names()).toEqual([]);
  });

  it("in memory knows its actor too", async () => {
    const medium = new MemoryMedium();
    await add(await openMemoryStore({ medium, actor: "alice" }), entry("r", 1));
    await refused(openMemoryStore({ medium, actor: "mallory" }), "wrong_store");
    await openMemoryStore({ medium });
  });
});

describe("a store of the old default name", () => {
  it("is adopted by its owner, and left alone by all others", async () => {
    const { store, older, names } = origin();
    await older("hapax", "alice", 2);
    const other = await store("mallory");
    expect([await list(other.store), other.left]).toEqual([[], undefined]);
    await other.store.close();
    for (let i = 0; i < 2; i++) {
      const { store: s, left } = await store("alice");
      expect([(await list(s)).length, left]).toEqual([2, undefined]);
      await s.close();
    }
    expect(await names()).toEqual(["hapax", "hapax:mallory"]);
  });

  it("whose rows name no owner is offered, and sent by none but who claims it", async () => {
    const { store, older } = origin();
    await older("hapax", undefined, 3);
    for (const actor of ["alice", "mallory"]) {
      const { store: s, left } = await store(actor);
      expect([await list(s), left]).toEqual([[], { name: "hapax", rows: 3 }]);
      await s.close();
      await refused(store(actor, { name: "hapax" }), "unowned");
    }
    const { store: s } = await store("alice", { name: "hapax", claim: true });
    expect((await list(s)).length).toBe(3);
    await s.close();
    await refused(store("mallory", { name: "hapax", claim: true }), "wrong_store");
    expect((await store("mallory")).left).toBeUndefined();
    expect((await store("alice")).left).toEqual({ name: "hapax", rows: 3 }); // beside the one of her own name
  });

  it("is claimed in its place where there is none of the new name", async () => {
    const { store, older, names } = origin();
    await older("hapax", undefined, 1);
    const { store: s } = await store("alice", { claim: true });
    expect((await list(s)).length).toBe(1);
    await s.close();
    expect(await names()).toEqual(["hapax"]);
  });

  it("without rows and owner is nobody's, and forgotten", async () => {
    const { store, older } = origin();
    await older("hapax", undefined, 0);
    const { left } = await store("alice");
    expect(left).toBeUndefined();
  });
});

describe("a client", () => {
  it("whose token is of another actor than its store sends nothing and gives up", async () => {
    const rig = new Rig();
    const medium = new MemoryMedium();
    const store = await openMemoryStore({ medium, actor: "alice" });
    const { client } = await rig.open({ store, token: "mallory", offline: true });
    await rig.say(client, "tea", "hers");
    client.connect();
    await rig.time.pass(1000);
    expect(client.state).toMatchObject({ state: "gave_up", error: { code: "wrong_store" } });
    expect(await client.counts()).toMatchObject({ queued: 1 });
    client.setToken("alice");
    await rig.time.pass(5000);
    expect([client.state.state, (await client.counts()).queued]).toEqual(["online", 0]);
    await client.close();
  });
});
