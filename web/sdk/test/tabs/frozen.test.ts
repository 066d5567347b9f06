/** A page that is frozen holds up nobody: what it has begun in the database is put off until it comes back. */

import { expect, it } from "vitest";
import type { PageEvent } from "../../src/store/connect.ts";
import { openDatabase } from "../../src/store/indexeddb.ts";
import { Leader } from "../../src/tabs/leader.ts";
import { nodeEnv } from "../help/node.ts";
import { add, entry, list, refused, sending } from "../store/suite/suite.ts";

/** A tab whose page can be frozen. */
async function tab(shared: ReturnType<typeof nodeEnv>) {
  const listeners = new Set<(e: PageEvent) => void>();
  const page = {
    hidden: () => false,
    listen(f: (e: PageEvent) => void) {
      listeners.add(f);
      return () => void listeners.delete(f);
    },
  };
  const env = { ...shared, page };
  const store = await openDatabase({ name: "store", env, lock: (beats) => new Leader(env, "store", beats) });
  const tell = (e: PageEvent) => {
    for (const f of [...listeners]) f(e);
  };
  return { store, tell, listeners };
}

const turns = async () => {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

it("a change under way when the page is frozen is done when it comes back, and not twice", async () => {
  const env = nodeEnv();
  const [a, b] = [await tab(env), await tab(env)];
  const adding = a.store.add(0, [entry("r", 1)]);
  let done = false;
  adding.then(() => {
    done = true;
  });
  a.tell("freeze");
  const later = a.store.add(0, [entry("r", 2)]);
  await add(b.store, entry("r", 3)); // not held up
  await turns();
  expect(done).toBe(false);
  expect((await list(b.store)).map((r) => r.id)).toEqual([entry("r", 3).id]);
  a.tell("resume");
  expect((await adding)[0]!.outcome).toBe("inserted");
  expect((await later)[0]!.outcome).toBe("inserted");
  expect((await list(b.store)).map((r) => r.id)).toEqual([3, 1, 2].map((n) => entry("r", n).id));
  await a.store.close();
  await b.store.close();
});

it("a transaction that is open when the page is frozen is aborted, and run again", async () => {
  const env = nodeEnv();
  const [a, b] = [await tab(env), await tab(env)];
  const binding = a.store.bind({ actor: "a", server: "s" }); // its transaction is open now
  a.tell("freeze");
  await turns();
  expect(await b.store.owner()).toBeUndefined();
  a.tell("resume");
  await binding;
  expect(await b.store.owner()).toEqual({ actor: "a", server: "s" });
  await a.store.close();
  await b.store.close();
});

it("a leader that hung and knows of nothing changes nothing once the fence is raised", async () => {
  let now = 0;
  const env = nodeEnv({ locks: undefined, mono: () => now });
  const [a, b] = [await tab(env), await tab(env)];
  const [row] = await add(a.store, entry("r", 1));
  const fence = await a.store.drain();
  for (const at of [0, 9_000, 14_000]) {
    now = at;
    await refused(b.store.drain(), "draining");
  }
  now = 15_000;
  const next = await b.store.drain();
  const lost = new Promise((resolve) => a.store.listen((h) => h === "lost" && resolve(h)));
  await refused(a.store.apply(fence, [sending(row!)]), "fenced");
  expect([await lost, await list(b.store)]).toEqual(["lost", [row]]);
  expect((await b.store.apply(next, [sending(row!)]))[0]!.applied).toBe(true);
  await a.store.close();
  await b.store.close();
});

it("a leader that is frozen lets go, begins nothing, and finds the fence raised", async () => {
  const env = nodeEnv();
  const [a, b] = [await tab(env), await tab(env)];
  const fence = await a.store.drain();
  await refused(b.store.drain(), "draining");
  const hints: string[] = [];
  a.store.listen((h) => h !== "changed" && hints.push(h));
  const evicting = refused(a.store.evict(fence, 1), "fenced");
  a.tell("freeze");
  expect(hints).toEqual(["lost"]);
  expect(await b.store.drain()).toBe(fence + 1);
  a.tell("resume");
  await evicting;
  expect(hints).toEqual(["lost", "free"]);
  await refused(a.store.drain(), "draining");
  await a.store.close();
  await b.store.close();
});

it("a frozen page can be closed, and listens to its page no more", async () => {
  const a = await tab(nodeEnv());
  a.tell("freeze");
  const adding = refused(a.store.add(0, [entry("r", 1)]), "closed");
  await a.store.close();
  await adding;
  expect(a.listeners.size).toBe(0);
});
