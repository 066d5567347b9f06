import { describe, expect, test } from "vitest";
import { zeroId } from "../../src/ids/id.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { all, Rig } from "../support/rig.ts";
import { settle } from "../support/virtual.ts";

const code = (c: string) => expect.objectContaining({ code: c });

describe("sending", () => {
  test("a refusal leaves no trace, and an id that was refused for its content works still", async () => {
    const rig = new Rig();
    const { client } = await rig.open({ offline: true });
    const id = client.nextMessageId();
    await expect(client.send("tea", zeroId, { text: "x" })).rejects.toEqual(code("zero_id"));
    await expect(client.send("tea", "f".repeat(32), { text: "x" })).rejects.toEqual(code("not_issued"));
    await expect(client.send("", id, { text: "x" })).rejects.toEqual(code("bad_room"));
    await expect(client.send("te\u0007a", id, { text: "x" })).rejects.toEqual(code("bad_room"));
    await expect(client.send("tea", id, { text: "\ud800" })).rejects.toEqual(code("bad_body"));
    await expect(client.send("tea", id, { text: "x", data: 2 ** 53 })).rejects.toEqual(code("bad_body"));
    await expect(client.send("tea", id, { text: "x", data: 1n })).rejects.toEqual(code("bad_body"));
    await expect(client.send("tea", id, { text: "é".repeat(8193) })).rejects.toEqual(code("too_large"));
    await expect(client.send("tea", id, { text: "", data: "x".repeat(65_535) })).rejects.toEqual(code("too_large"));
    expect(await all(client.outbox())).toEqual([]);
    await client.send("tea", id, { text: "é".repeat(8192), data: { b: [1], a: "ü" } });
    await expect(client.send("tea", id, { text: "x" })).rejects.toEqual(code("not_issued"));
    expect(await all(client.export())).toMatchObject([[{ size: 16_384 + 18 }, { data: '{"a":"ü","b":[1]}' }]]);
    expect(() => client.release(zeroId)).toThrow(code("zero_id"));
    expect(() => client.release(id)).toThrow(code("not_issued"));
    client.release(client.nextMessageId());
  });

  test("a full outbox says so, and the blocking variant waits", async () => {
    const rig = new Rig();
    const limits = { queued: 2, aside: 1000, asideAge: 1000 };
    const store = await openMemoryStore({ medium: rig.medium, limits });
    const { client } = await rig.open({ offline: true, store, session: { limits } });
    await rig.say(client, "tea", "1");
    await rig.say(client, "tea", "2");
    const id = client.nextMessageId();
    await expect(client.send("tea", id, { text: "3" })).rejects.toEqual(code("full"));
    const ended = new AbortController();
    const given = client.sendWait("tea", id, { text: "3" }, { signal: ended.signal });
    await settle();
    ended.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    const waiting = client.sendWait("tea", id, { text: "3" });
    client.connect();
    await rig.time.wait(waiting, 5000);
    await rig.time.pass(1000);
    expect(rig.server.rooms.get("tea")?.rows.map((m) => m.text)).toEqual(["1", "2", "3"]);
  });

  test("resend: the row that is there, another content, none", async () => {
    const rig = new Rig();
    const { client } = await rig.open({ offline: true });
    await client.resend("tea", "of-elsewhere", { text: "x" });
    await client.resend("tea", "of-elsewhere", { text: "x" });
    await expect(client.resend("tea", "of-elsewhere", { text: "y" })).rejects.toEqual(code("conflict"));
    await expect(client.resend("tea", "no id", { text: "y" })).rejects.toEqual(code("bad_id"));
    await expect(client.resend("tea", zeroId, { text: "y" })).rejects.toEqual(code("zero_id"));
    expect(await all(client.outbox())).toMatchObject([{ id: "of-elsewhere", state: "queued", attempts: 0 }]);
    client.connect();
    await rig.time.pass(1000);
    expect(rig.server.rooms.get("tea")?.rows).toMatchObject([{ clientMessageId: "of-elsewhere" }]);
  });

  test("cancel, discard and waitAck of a row that is gone", async () => {
    const rig = new Rig();
    const { client } = await rig.open({ offline: true });
    const [a, b] = [await rig.say(client, "tea", "a"), await rig.say(client, "tea", "b")];
    const waiting = client.waitAck("tea", a);
    const gone = expect(waiting).rejects.toEqual(code("gone"));
    await settle();
    await client.cancel("tea", a);
    await gone;
    await client.discard("tea", b);
    await expect(client.cancel("tea", a)).rejects.toEqual(code("no_row"));
    await expect(client.waitAck("tea", a)).rejects.toEqual(code("no_row"));
    expect(await client.counts()).toMatchObject({ queued: 0, parked: 0 });
  });

  test("ids are renewed in the background, run dry without the store, and go on with it", async () => {
    const rig = new Rig();
    const store = await openMemoryStore({ medium: rig.medium });
    let fails = false;
    const reserve = store.reserve.bind(store);
    store.reserve = (...args) => (fails ? Promise.reject(new Error("no")) : reserve(...args));
    const { client, events } = await rig.open({ offline: true, lease: 8, store });
    const ids = new Set<string>();
    const take = (n: number): void => {
      for (let i = 0; i < n; i++) {
        const id = client.nextMessageId();
        if (id === zeroId) continue;
        ids.add(id);
        client.release(id);
      }
    };
    take(6);
    await settle(); // the next lease is there
    fails = true;
    take(20);
    await settle();
    expect(ids.size).toBe(16);
    expect(client.nextMessageId()).toBe(zeroId);
    expect(events.some((e) => e.type === "failed")).toBe(true);
    await settle();
    fails = false;
    client.nextMessageId();
    await settle();
    take(8);
    expect(ids.size).toBe(24);
  });
});

describe("rooms", () => {
  test("R15: reconnecting with nothing new shows nothing new", async () => {
    const rig = new Rig();
    const { client, events } = await rig.online();
    client.subscribe("tea", { rows: 10 });
    await rig.say(client, "tea", "x");
    await rig.time.pass(100);
    const before = await client.messages("tea", 0, 9);
    expect(before).toMatchObject([{ text: "x", position: 2 }]);
    const shown = events.filter((e) => e.type === "room").length;
    for (let i = 0; i < 3; i++) {
      rig.server.restart();
      await rig.time.pass(70_000);
    }
    expect(client.stats).toMatchObject({ connects: 4, snapshots: 1, gaps: 0 });
    expect(await client.messages("tea", 0, 9)).toEqual(before);
    expect(events.filter((e) => e.type === "room").length).toBe(shown);
  });

  test("R18: what was missed comes page by page, and a new epoch replaces the view", async () => {
    const rig = new Rig();
    const { client, events } = await rig.online();
    client.subscribe("tea");
    await rig.time.pass(100);
    client.disconnect();
    const other = await rig.online({ store: await openMemoryStore(), token: "bob" });
    for (let i = 1; i <= 8; i++) await rig.say(other.client, "tea", `${i}`);
    await rig.time.pass(10_000);
    client.connect();
    await rig.time.pass(1000);
    expect((await client.messages("tea", 0, 99)).map((m) => m.text).join("")).toBe("12345678");
    expect(client.stats?.snapshots).toBe(1);
    rig.server.restart("e2");
    await rig.time.pass(10_000);
    const replaced = events.filter((e) => e.type === "room" && e.replaced);
    expect(replaced).toMatchObject([{ cursor: { epoch: "e1" } }, { cursor: { epoch: "e2", after: 8 } }]);
    expect((await client.view("tea", 0, 99)).map((m) => m.epoch)).toEqual(Array(8).fill("e2"));
  });

  test("follow gives what is there and what comes, and deliver goes on where a handler throws", async () => {
    const rig = new Rig();
    const { client, events } = await rig.online();
    client.subscribe("tea");
    await rig.say(client, "tea", "1");
    await rig.time.pass(100);
    const seen: string[] = [];
    const delivered: string[] = [];
    const ended = new AbortController();
    const following = (async () => {
      for await (const m of client.follow("tea", 0, { signal: ended.signal })) seen.push(m.text);
    })();
    const delivering = client.deliver("tea", 0, (m) => {
      delivered.push(m.text);
      if (m.text === "2") throw new Error("thrown at 2");
    });
    for (const text of ["2", "3"]) {
      await rig.say(client, "tea", text);
      await rig.time.pass(100);
    }
    expect([seen, delivered]).toEqual([
      ["1", "2", "3"],
      ["1", "2", "3"],
    ]);
    expect(events.filter((e) => e.type === "threw")).toMatchObject([{ error: { message: "thrown at 2" } }]);
    ended.abort();
    await following;
    await client.close();
    await delivering;
  });

  test("forget drops rows and cursor together, and the view begins anew", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    client.subscribe("tea");
    await rig.say(client, "tea", "x");
    await rig.time.pass(100);
    await client.forget("tea");
    expect([await client.view("tea", 0, 9), await client.room("tea")]).toEqual([[], undefined]);
    await rig.time.pass(100);
    expect(await client.view("tea", 0, 9)).toMatchObject([{ text: "x" }]);
  });
});
