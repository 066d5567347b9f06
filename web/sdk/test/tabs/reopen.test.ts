/** IndexedDB that the browser closes by itself: the store opens it anew, and tells once of what is lost. */

import { forceCloseDatabase } from "fake-indexeddb";
import { afterEach, describe, expect, it } from "vitest";
import type { ClientEvent } from "../../src/index.ts";
import { openBrowserStore } from "../../src/tabs/browser.ts";
import { nodeEnv } from "../help/node.ts";
import { add, entry, list, refused } from "../store/suite/suite.ts";
import { Rig } from "../support/rig.ts";

const nowhere = { manager: undefined, marker: () => ({ get: async () => undefined, set: async () => {} }) };

/** A browser that can take a connection away, and refuse to give another. */
function browser() {
  const plain = nodeEnv({ channel: () => undefined });
  const factory = plain.indexedDB!;
  const open: IDBDatabase[] = [];
  const b = { refusing: false, asked: 0 };
  const indexedDB = {
    open(...words: Parameters<IDBFactory["open"]>) {
      b.asked++;
      if (b.refusing) throw new DOMException("no", "UnknownError");
      const request = factory.open(...words);
      request.addEventListener("success", () => open.push(request.result));
      return request;
    },
    deleteDatabase: (name: string) => factory.deleteDatabase(name),
  } as unknown as IDBFactory;
  const timers: { ms: number; f: () => void }[] = [];
  const after = (ms: number, f: () => void) => {
    timers.push({ ms, f });
    return () => {};
  };
  const env = { ...plain, indexedDB };
  return Object.assign(b, {
    env,
    /** The same with timers that the test lets run out. */
    slow: { ...env, after },
    timers,
    factory,
    last: () => open.at(-1)!,
    store: async (e = env) => (await openBrowserStore({ actor: "ann", env: e, storage: nowhere })).store,
  });
}

const close: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const f of close.splice(0)) await f();
});

describe.each([
  ["by a close event", (db: IDBDatabase) => forceCloseDatabase(db as never)],
  ["in silence", (db: IDBDatabase) => db.close()],
] as const)("a store that the browser closes %s", (_, cut) => {
  it("is opened anew by what needs it next, and nobody sees it", async () => {
    const b = browser();
    const store = await b.store();
    await add(store, entry("r", 1));
    const fence = await store.drain();
    for (let n = 2; n <= 4; n++) {
      cut(b.last());
      await add(store, entry("r", n));
    }
    cut(b.last());
    expect((await list(store)).map((r) => r.id)).toEqual([1, 2, 3, 4].map((n) => entry("r", n).id));
    expect(await store.evict(fence, 1)).toEqual([]); // it drains still
    await store.close();
  });

  it("that isn't there any more says so, and no other is taken for it", async () => {
    const b = browser();
    const store = await b.store();
    const hints: string[] = [];
    await store.drain();
    store.listen((h) => hints.push(h));
    cut(b.last());
    await new Promise((resolve) => {
      b.factory.deleteDatabase("hapax:ann").onsuccess = resolve;
    });
    await refused(store.list(0, 1), "closed");
    const other = await b.store();
    await refused(store.add(0, [entry("r", 1)]), "closed");
    expect([hints.filter((h) => h === "lost"), await list(other)]).toEqual([["lost"], []]);
    await other.close();
    await store.close();
  });

  it("and won't open is tried again at once, and then by the delay law", async () => {
    const b = browser();
    const store = await b.store(b.slow);
    await add(store, entry("r", 1));
    b.timers.length = 0;
    cut(b.last());
    b.refusing = true;
    const before = b.asked;
    for (let n = 1; n <= 12; n++) {
      for (let i = 0; i < 3; i++) await refused(store.list(0, 9), "unavailable");
      expect([b.asked - before, b.timers.length]).toEqual([n, n]);
      b.timers.at(-1)!.f();
    }
    const waits = b.timers.map((t) => t.ms);
    waits.forEach((ms, i) => {
      const most = Math.min(300_000, 1_000 * 2 ** i);
      expect(ms).toBeGreaterThanOrEqual(most / 2);
      expect(ms).toBeLessThanOrEqual(most);
    });
    b.refusing = false;
    expect((await list(store)).length).toBe(1);
    await store.close();
  });
});

it("a transaction under way when the browser closes the database is run again, once", async () => {
  const b = browser();
  const store = await b.store();
  const adding = Promise.all([1, 2, 3].map((n) => store.add(0, [entry("r", n)])));
  await Promise.resolve();
  forceCloseDatabase(b.last() as never);
  expect((await adding).map(([a]) => a!.outcome)).toEqual(["inserted", "inserted", "inserted"]);
  expect((await list(store)).length).toBe(3);
  await store.close();
});

it("connect() tries at once", async () => {
  const b = browser();
  const rig = new Rig();
  const { client } = await rig.open({ store: await b.store(b.slow) });
  close.push(() => client.close());
  await rig.time.pass(2_000);
  b.last().close();
  b.refusing = true;
  await expect(client.send("r", client.nextMessageId(), { text: "x" })).rejects.toBeDefined();
  b.refusing = false;
  client.connect();
  const state = async () => {
    await rig.time.pass(10);
    return client.state.state;
  };
  await expect.poll(state, { timeout: 60_000 }).toBe("online");
  const id = client.nextMessageId();
  await client.send("r", id, { text: "after" });
  await rig.time.wait(client.waitAck("r", id), 60_000);
});

it("a client goes on by itself once its store is back, and tells of the failure once", async () => {
  const b = browser();
  const rig = new Rig();
  const { client } = await rig.open({ store: await b.store(b.slow) });
  close.push(() => client.close());
  const events: ClientEvent[] = [];
  client.listen((e) => events.push(e));
  await rig.time.pass(2_000);
  b.timers.length = 0;
  b.last().close();
  b.refusing = true;
  await expect(client.send("r", client.nextMessageId(), { text: "x" })).rejects.toBeDefined();
  await rig.time.pass(30_000);
  expect(events.filter((e) => e.type === "failed")).toHaveLength(1);
  b.refusing = false;
  for (const t of b.timers.splice(0)) t.f();
  const state = async () => {
    await rig.time.pass(1_000);
    return client.state.state;
  };
  await expect.poll(state, { timeout: 60_000 }).toBe("online");
  const id = client.nextMessageId();
  await client.send("r", id, { text: "after" });
  await rig.time.wait(client.waitAck("r", id), 60_000);
  expect(events.filter((e) => e.type === "failed")).toHaveLength(1);
});
