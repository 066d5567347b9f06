/** A connection that dies silently, a lost ack, a reload in mid-send, an answer that is cut: found out soon, and by asking. */

import { describe, expect, test } from "vitest";
import type { ClientEvent } from "../../src/session/event.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { Rig } from "../support/rig.ts";

const states = (events: ClientEvent[]) => events.flatMap((e) => (e.type === "connection" ? [e.state] : []));

describe("a connection that dies silently", () => {
  test("is cut within seconds once the app or its network comes back, and not before there is reason to doubt it", async () => {
    const rig = new Rig();
    let wake = () => {};
    const { client, events } = await rig.online({
      wakes: (f) => {
        wake = f;
        return () => {};
      },
    });
    rig.server.silent = true;
    await rig.time.pass(15_000);
    expect(client.state.state).toBe("online");
    wake();
    await rig.time.pass(2900);
    expect(client.state.state).toBe("online");
    await rig.time.pass(200);
    expect(states(events)).toContain("offline");
    rig.server.silent = false;
    await rig.time.pass(2000);
    expect(client.state.state).toBe("online");
    await client.close();
  });

  test("is cut as an answer about a row is overdue, one attempt spent, and the row goes right after the reconnect", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    for (let i = 0; i < 10; i++) await rig.time.wait(client.waitAck("tea", await rig.say(client, "tea", `${i}`)), 5000);
    rig.server.silent = true;
    const id = await rig.say(client, "tea", "x");
    const from = rig.time.t;
    await rig.time.pass(5000); // a second until it is overdue, three until the ping is
    expect(client.state.state).not.toBe("online");
    expect(await client.row("tea", id)).toMatchObject({ attempts: 1 });
    rig.server.silent = false;
    await rig.time.wait(client.waitAck("tea", id), 5000);
    expect(rig.time.t - from).toBeLessThan(8000);
    expect(rig.server.sends.get(id)).toBe(1);
    await client.close();
  });

  test("isn't cut while rows are long under way", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    rig.server.tap = (c) => c.type === "subscribe" || c.type === "ping" || undefined; // nothing is answered for a while
    client.subscribe("tea");
    await rig.time.pass(1000);
    client.visible();
    await rig.time.pass(25_000);
    expect([client.state.state, rig.server.opened]).toEqual(["online", 1]);
    await rig.time.pass(15_000);
    expect(rig.server.opened).toBe(2);
    await client.close();
  });
});

describe("a lost ack", () => {
  test("is asked for within 1 s on a quick link, which is no attempt and sends nothing again", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    for (let i = 0; i < 10; i++) await rig.time.wait(client.waitAck("tea", await rig.say(client, "tea", `${i}`)), 5000);
    rig.server.chances = { ...rig.server.chances, lose: 2 };
    const id = await rig.say(client, "tea", "x");
    await rig.time.pass(500);
    rig.server.chances = { ...rig.server.chances, lose: 0 };
    const from = rig.time.t;
    expect(await client.row("tea", id)).toMatchObject({ state: "sending", attempts: 1 });
    expect(await rig.time.wait(client.waitAck("tea", id), 5000)).toMatchObject({ seq: 11 });
    expect(rig.time.t - from).toBeLessThan(600);
    expect(rig.server.sends.get(id)).toBe(1);
    await client.close();
  });

  test("of a row that the server doesn't have ends the attempt, and the row goes again by the delay law", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    for (let i = 0; i < 10; i++) await rig.time.wait(client.waitAck("tea", await rig.say(client, "tea", `${i}`)), 5000);
    let drop = true;
    rig.server.tap = (c) => {
      if (c.type !== "send" || !drop) return undefined;
      drop = false;
      return true;
    };
    const id = await rig.say(client, "tea", "x");
    await rig.time.wait(client.waitAck("tea", id), 10_000);
    expect(rig.server.came.get("status")).toBe(1);
    expect(rig.server.rooms.get("tea")?.rows.filter((m) => m.clientMessageId === id).length).toBe(1);
    await client.close();
  });
});

describe("a reload in mid-send", () => {
  test("shows sent within a second where the server has the rows, all asked first", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    for (let i = 0; i < 40; i++) await rig.time.wait(client.waitAck("tea", await rig.say(client, "tea", `${i}`)), 5000);
    rig.server.chances = { ...rig.server.chances, lose: 2 };
    const ids = [];
    for (let i = 0; i < 8; i++) ids.push(await rig.say(client, "tea", `x${i}`));
    await rig.time.pass(200);
    const medium = await rig.medium.copy(); // the tab dies here
    client.disconnect();
    rig.server.chances = { ...rig.server.chances, lose: 0 };
    const store = await openMemoryStore({ medium });
    const { client: next } = await rig.open({ store });
    const from = rig.time.t;
    const receipts = await rig.time.wait(Promise.all(ids.map((id) => next.waitAck("tea", id))), 10_000);
    expect(rig.time.t - from).toBeLessThan(1000);
    expect(receipts.map((r) => r.seq)).toEqual(ids.map((_, i) => 41 + i));
    for (const id of ids) expect(rig.server.sends.get(id)).toBe(1);
    await next.close();
    await client.close();
  });

  test("keeps the stored schedule of a row that the server doesn't have", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    rig.server.tap = (c) => c.type === "send" || undefined;
    const id = await rig.say(client, "tea", "x");
    await rig.time.pass(100);
    const medium = await rig.medium.copy();
    await client.close();
    rig.server.tap = () => undefined;
    const { client: next } = await rig.open({ store: await openMemoryStore({ medium }) });
    await rig.time.pass(500);
    expect(rig.server.came.get("status")).toBe(1);
    expect(await next.row("tea", id)).toMatchObject({ state: "queued", attempts: 1, interval: 1000 });
    await rig.time.wait(next.waitAck("tea", id), 2000);
    await next.close();
  });
});

describe("an answer that was cut", () => {
  test("is asked for again at a quarter of its size, until it comes", async () => {
    const rig = new Rig();
    const asked: unknown[] = [];
    rig.server.tap = (c) => {
      if (c.type !== "subscribe") return undefined;
      asked.push(c.maxBytes);
      if (asked.length > 3) return undefined;
      rig.server.restart();
      return true;
    };
    const { client } = await rig.online();
    client.subscribe("tea");
    await rig.time.pass(60_000);
    expect(asked).toEqual([undefined, 2 ** 18, 2 ** 16, 2 ** 14]);
    await client.close();
  });

  test("that weighs the worst by its escapes comes whole, and one past the server's word ends the connection", async () => {
    const rig = new Rig();
    rig.server.limits = { serverFrame: 8 * 2 ** 20 };
    const { client } = await rig.online();
    const worst = "\u0001".repeat(16 * 1024);
    for (let i = 0; i < 64; i++) {
      await rig.time.wait(client.waitAck("tea", await rig.say(client, "tea", worst)), 5000);
    }
    rig.server.features = ["subscribe.live"]; // it bounds nothing: 6.3 MB in one frame
    client.subscribe("tea");
    await rig.time.pass(5000);
    expect([(await client.messages("tea", 0, 100)).length, rig.server.opened]).toEqual([64, 1]);
    rig.server.limits = { serverFrame: 2 ** 20 };
    await client.forget("tea");
    client.disconnect();
    client.connect();
    await rig.time.pass(5000);
    expect(rig.server.opened).toBeGreaterThan(2);
    await client.close();
  });
});
