/** How fast a backlog leaves: by round trips on a healthy link, and slowly at a server in trouble (docs/spec/client.md, 3). */

import { describe, expect, test } from "vitest";
import { openMemoryStore } from "../../src/store/memory.ts";
import { Rig } from "../support/rig.ts";

/** Sends n messages into rooms in turn, and answers the virtual ms until all are acked. A round trip is 10 ms. */
async function burst(n: number, rooms: number, features?: string[]): Promise<{ ms: number; rig: Rig }> {
  const rig = new Rig();
  if (features) rig.server.features = features;
  const { client } = await rig.online();
  const from = rig.time.t;
  const acked = [];
  for (let i = 0; i < n; i++)
    acked.push(client.waitAck(`r${i % rooms}`, await rig.say(client, `r${i % rooms}`, `${i}`)));
  await rig.time.wait(Promise.all(acked), 60_000);
  await rig.time.wait(client.close(), 2000);
  return { ms: rig.time.t - from, rig };
}

describe("a burst on a fresh, healthy connection", () => {
  test.each([
    ["1 message", 1, 1, 1],
    ["100 messages into a room", 100, 1, 12],
    ["1,000 messages into ten rooms", 1000, 10, 24],
    ["1,000 messages into 1,000 rooms", 1000, 1000, 24],
  ] as const)("of %s takes round trips, not seconds", async (_, n, rooms, trips) => {
    const { ms, rig } = await burst(n, rooms);
    expect(ms).toBeLessThanOrEqual(10 * trips);
    expect(rig.server.came.get("send")).toBe(n);
    expect(rig.server.came.get("not_subscribed") ?? 0).toBe(0);
  });

  test("is as quick at a server that knows no subscription for sending", async () => {
    const { ms } = await burst(200, 20, []);
    expect(ms).toBeLessThanOrEqual(10 * 14);
  });
});

describe("a herd", () => {
  test.each(["silent", "unavailable"] as const)("meets a server that is %s with few frames", async (how) => {
    const rig = new Rig();
    const trouble = { on: true };
    rig.server.tap = (c) => (how === "silent" && trouble.on && (c.type === "send" || c.type === "status")) || undefined;
    rig.server.chances = { cut: 0, lose: 0, refuse: how === "unavailable" ? 2 : 0, unreachable: 0 };
    const clients = [];
    for (let i = 0; i < 20; i++) {
      const store = await openMemoryStore();
      const { client } = await rig.open({ store, offline: true, token: `u${i}` });
      for (let n = 0; n < 50; n++) await rig.say(client, `r${n % 5}`, `${i} ${n}`);
      client.connect();
      clients.push(client);
    }
    await rig.time.pass(60_000);
    const frames = (rig.server.came.get("send") ?? 0) + (rig.server.came.get("status") ?? 0);
    // One row goes first, then by the delay law: of 1 to 60 s, some eight in the first minute, for each client.
    expect(frames).toBeGreaterThan(20);
    expect(frames).toBeLessThan(20 * 12);
    trouble.on = false;
    rig.server.chances = { cut: 0, lose: 0, refuse: 0, unreachable: 0 };
    await rig.time.pass(600_000);
    const stored = [...rig.server.rooms.values()].reduce((n, r) => n + r.rows.length, 0);
    expect(stored).toBe(20 * 50);
    for (const c of clients) await rig.time.wait(c.close(), 2000);
  });
});
