/** What waiting costs: the store is asked as often for a thousand who wait as for one. */

import { describe, expect, test } from "vitest";
import type { Store } from "../../src/store/contract.ts";
import { type MemoryMedium, openMemoryStore } from "../../src/store/memory.ts";
import { Rig } from "../support/rig.ts";
import { settle } from "../support/virtual.ts";

/** A store that counts what it is asked. */
async function counted(medium: MemoryMedium, o: Parameters<typeof openMemoryStore>[0] = {}) {
  const inner = await openMemoryStore({ ...o, medium });
  const asked = new Map<string, number>();
  const store = new Proxy(inner, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        asked.set(String(name), (asked.get(String(name)) ?? 0) + 1);
        return member.apply(target, args);
      };
    },
  }) as Store;
  const of = (...names: (keyof Store)[]) => names.reduce((sum, n) => sum + (asked.get(n) ?? 0), 0);
  return { store, asked, of };
}

const reads = ["find", "receipt", "list", "view", "owner", "body", "feed", "rooms", "room"] as const;

describe("waiting", () => {
  test("for many receipts asks the store nothing while it lasts, in the tab that sends", async () => {
    const costs: number[] = [];
    for (const n of [10, 1000]) {
      const rig = new Rig();
      const { store, asked, of } = await counted(rig.medium);
      const { client } = await rig.open({ store, offline: true });
      const ids = [];
      for (let i = 0; i < n; i++) ids.push(await rig.say(client, "tea", `${i}`));
      asked.clear();
      const receipts = ids.map((id) => client.waitAck("tea", id));
      await settle();
      costs.push(of(...reads));
      expect(of(...reads)).toBe(0); // the machine has the rows
      client.connect();
      await rig.time.wait(Promise.all(receipts), 600_000);
      expect(of("find", "receipt", "view", "list", "feed")).toBe(0);
      await client.close();
    }
    expect(costs).toEqual([0, 0]);
  });

  test("in a tab that doesn't send costs one look a change for all, also where no word comes of it", async () => {
    const looks: number[] = [];
    for (const n of [10, 200]) {
      const rig = new Rig();
      const first = await rig.online();
      const { store, asked, of } = await counted(rig.medium);
      const { client } = await rig.open({ store, offline: true });
      expect([first.client.drains, client.drains]).toEqual([true, false]);
      first.client.disconnect();
      await rig.time.pass(1000);
      const ids = [];
      for (let i = 0; i < n; i++) ids.push(await rig.say(client, "tea", `${i}`));
      const receipts = ids.map((id) => client.waitAck("tea", id));
      await rig.time.pass(5000);
      asked.clear();
      await first.client.discard("tea", ids[0]!);
      await expect(receipts[0]).rejects.toMatchObject({ code: "gone" });
      await rig.time.pass(1000);
      looks.push(of(...reads));
      first.client.connect();
      const got = await rig.time.wait(Promise.all(receipts.slice(1)), 600_000);
      expect(got.map((r) => r.seq)).toEqual(got.map((_, i) => i + 1));
      await client.close();
      await first.client.close();
    }
    expect(looks[1]).toBe(looks[0]);
  });

  test("for rows of many rooms asks for the one that got some", async () => {
    const rig = new Rig();
    const { store, asked, of } = await counted(rig.medium);
    const { client } = await rig.online({ store });
    const seen: string[] = [];
    const rooms = Array.from({ length: 100 }, (_, i) => `r${i}`);
    const ends = rooms.map((room) => client.deliver(room, 0, (m) => void seen.push(`${room} ${m.text}`)));
    client.subscribe("r7");
    await rig.time.pass(5000);
    asked.clear();
    await rig.say(client, "r7", "here");
    await rig.time.pass(5000);
    expect(seen).toEqual(["r7 here"]);
    expect(of("feed")).toBeLessThan(5);
    await client.close();
    await Promise.all(ends);
  });

  test("for room in a full outbox tries once for each that got room, and one who leaves passes its turn on", async () => {
    const rig = new Rig();
    const limits = { queued: 2, aside: 1000, asideAge: 1000 };
    const { store, asked, of } = await counted(rig.medium, { limits });
    const { client } = await rig.open({ offline: true, store, session: { limits } });
    await rig.say(client, "tea", "a");
    await rig.say(client, "tea", "b");
    const ended = new AbortController();
    const gone = client.sendWait("tea", client.nextMessageId(), { text: "x" }, { signal: ended.signal });
    const waiting = Array.from({ length: 50 }, (_, i) =>
      client.sendWait("tea", client.nextMessageId(), { text: `${i}` }),
    );
    await settle();
    ended.abort(new Error("enough"));
    await expect(gone).rejects.toThrow("enough");
    asked.clear();
    client.connect();
    await rig.time.wait(Promise.all(waiting), 600_000);
    expect(of("add")).toBeLessThan(3 * 52);
    await rig.time.pass(10_000);
    expect(rig.server.rooms.get("tea")?.rows.map((m) => m.text)).toEqual(["a", "b", ...waiting.map((_, i) => `${i}`)]);
    await client.close();
  });

  test("gives the receipt of a message that is not among the newest, after a restart too", async () => {
    const rig = new Rig();
    const opened = await rig.online();
    const first = await rig.say(opened.client, "tea", "first");
    await rig.time.wait(opened.client.waitAck("tea", first), 5000);
    const more = [];
    for (let i = 0; i < 1200; i++) more.push(opened.client.waitAck("tea", await rig.say(opened.client, "tea", `${i}`)));
    await rig.time.wait(Promise.all(more), 600_000);
    expect(await opened.client.waitAck("tea", first)).toMatchObject({ seq: 1 });
    await opened.client.close();
    const { client } = await rig.open({ offline: true });
    expect(await client.waitAck("tea", first)).toMatchObject({ seq: 1 });
    await client.forget("tea");
    expect(await client.waitAck("tea", first)).toMatchObject({ seq: 1 });
    await expect(client.waitAck("tea", "other")).rejects.toMatchObject({ code: "no_row" });
    await client.close();
  });
});
