/** A client that only sends: it subscribes for sending, in the same write, and gives places back. */

import { describe, expect, test } from "vitest";
import { Rig } from "../support/rig.ts";

describe("sending into more rooms than a connection may have", () => {
  test.each([2, 3, 1000])("(%i) is never answered not_subscribed, and costs a subscribe a room", async (sendRooms) => {
    const rig = new Rig();
    rig.server.limits = { sendRooms, subscriptions: 1 };
    const { client, events } = await rig.online();
    const receipts = [];
    for (let i = 0; i < 60; i++) receipts.push(client.waitAck(`r${i % 6}`, await rig.say(client, `r${i % 6}`, `${i}`)));
    await rig.time.wait(Promise.all(receipts), 60_000);
    expect(rig.server.came.get("not_subscribed") ?? 0).toBe(0);
    expect(rig.server.came.get("send")).toBe(60);
    if (sendRooms === 1000) expect(rig.server.came.get("subscribe")).toBe(6);
    expect(events.filter((e) => e.type === "denied")).toEqual([]);
    await client.close();
  });

  test("sends no rows to who only sends", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    const other = await rig.another("bob");
    for (let i = 0; i < 20; i++) await rig.say(client, "tea", `${i}`);
    await rig.time.pass(5000);
    expect((await client.view("tea", 0, 100)).map((m) => m.position)).toEqual(Array(20).fill(0)); // by their acks alone
    expect(await client.room("tea")).toBeUndefined();
    await client.close();
    await other.client.close();
  });

  test("goes by the delay law where it is refused, told from the second time on, and ends with the refusals", async () => {
    const rig = new Rig();
    let refused = 0;
    rig.server.limits = { sendRooms: 0 };
    rig.server.tap = (c) => {
      if (c.type === "subscribe" && rig.server.limits.sendRooms === 0) refused++;
      return undefined;
    };
    const { client, events } = await rig.online();
    const id = await rig.say(client, "tea", "x");
    await rig.time.pass(20_000);
    expect(refused).toBeGreaterThan(3);
    expect(refused).toBeLessThan(8);
    const denied = events.filter((e) => e.type === "denied");
    expect(denied.length).toBe(refused - 1);
    expect(denied[0]).toMatchObject({ room: "tea", reason: "rate_limited" });
    expect(await client.row("tea", id)).toMatchObject({ state: "queued", attempts: 0 });
    rig.server.limits = {};
    await rig.time.wait(client.waitAck("tea", id), 60_000);
    await client.close();
  });
});

test("an older server that grants a subscription and refuses sends all the same is asked by the delay law, and the app told", async () => {
  const rig = new Rig();
  rig.server.features = [];
  rig.server.forgets = true;
  const { client, events } = await rig.online();
  await rig.say(client, "tea", "x");
  await rig.time.pass(20_000);
  expect(rig.server.came.get("send")).toBeLessThan(10);
  expect(events.filter((e) => e.type === "denied").length).toBeGreaterThan(2);
  await client.close();
});

describe("a wish for rows", () => {
  test.each([
    ["with", ["subscribe.live", "maxBytes"]],
    ["without", []],
  ])("while a send's subscription is pending asks anew, %s subscriptions for sending", async (_, features) => {
    const rig = new Rig();
    rig.server.features = features;
    const bob = await rig.another("bob");
    for (const text of ["1", "2", "3"]) {
      await rig.time.wait(bob.client.waitAck("tea", await rig.say(bob.client, "tea", text)), 5000);
    }
    await bob.client.close();
    const { client } = await rig.online();
    for (let i = 0; i < 4; i++) await rig.time.toNext(rig.time.t + 2);
    const own = await rig.say(client, "tea", "own");
    client.subscribe("tea");
    await rig.time.wait(client.waitAck("tea", own), 10_000);
    await rig.time.pass(5000);
    expect((await client.view("tea", 0, 100)).map((m) => m.text)).toEqual(["1", "2", "3", "own"]);
    expect((await client.messages("tea", 0, 100)).map((m) => m.text)).toEqual(["1", "2", "3", "own"]);
    await client.close();
  });

  test("goes on with live rows where the room was subscribed for sending before", async () => {
    const rig = new Rig();
    const { client } = await rig.online();
    await rig.time.wait(client.waitAck("tea", await rig.say(client, "tea", "1")), 5000);
    client.subscribe("tea");
    await rig.time.pass(1000);
    const bob = await rig.another("bob");
    await rig.say(bob.client, "tea", "2");
    await rig.say(client, "tea", "3");
    await rig.time.pass(1000);
    expect((await client.messages("tea", 0, 100)).map((m) => m.text).sort()).toEqual(["1", "2", "3"]);
    await client.close();
    await bob.client.close();
  });
});
