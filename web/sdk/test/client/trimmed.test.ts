/** A bounded store: whoever reads from before what went is told the seqs, and a receipt is had all the same. */

import { expect, test } from "vitest";
import type { ClientEvent } from "../../src/session/event.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { Rig } from "../support/rig.ts";

const trimmed = (events: ClientEvent[]) =>
  events.flatMap((e) => (e.type === "trimmed" ? [[e.room, e.from, e.to]] : []));

/** A client that follows into a store of ten rows a room, and another that says n messages. */
async function world(limits = { roomRows: 10 }) {
  const rig = new Rig();
  const store = await openMemoryStore({ limits });
  const { client, events } = await rig.online({ store });
  const bob = await rig.another("bob");
  const say = async (n: number) => {
    const acked = [];
    for (let i = 0; i < n; i++) acked.push(bob.client.waitAck("tea", await rig.say(bob.client, "tea", `${i}`)));
    await rig.time.wait(Promise.all(acked), 600_000);
    await rig.time.pass(500);
  };
  return { rig, client, events, say, end: () => Promise.all([client.close(), bob.client.close()]) };
}

test("a reader who keeps up is told of nothing, a slow one of the seqs that it missed", async () => {
  const { rig, client, events, say, end } = await world();
  client.subscribe("tea");
  await rig.time.pass(100);
  const seen: number[] = [];
  let slow: Promise<void> | undefined;
  let go = (): void => {};
  const ends = client.deliver("tea", 0, async (m) => {
    await slow;
    seen.push(m.seq);
  });
  for (let i = 0; i < 6; i++) await say(5);
  expect([seen.length, trimmed(events)]).toEqual([30, []]);
  slow = new Promise((resolve) => {
    go = resolve;
  });
  await say(1); // held in its hands
  await say(25);
  go();
  await rig.time.pass(500);
  expect(trimmed(events)).toEqual([["tea", 32, 46]]);
  expect(seen.slice(30)).toEqual([31, ...Array.from({ length: 10 }, (_, i) => 47 + i)]);
  await end();
  await ends;
});

test("reading by position from before what went names it, and from behind it nothing", async () => {
  const { rig, client, events, say, end } = await world();
  client.subscribe("tea");
  await rig.time.pass(100);
  await say(25);
  expect((await client.messages("tea", 0, 5)).map((m) => m.seq)).toEqual([16, 17, 18, 19, 20]);
  expect(trimmed(events)).toEqual([["tea", 1, 15]]);
  const { position } = (await client.messages("tea", 0, 1))[0]!;
  events.length = 0;
  await client.messages("tea", position, 100);
  expect(trimmed(events)).toEqual([]);
  expect((await client.room("tea"))?.trimmed).toMatchObject({ from: 1, to: 15 });
  await end();
});

test("a memory store is bounded by default, and gives the receipt of a row that it has dropped", async () => {
  const rig = new Rig();
  const store = await openMemoryStore({ limits: { roomRows: 10 } });
  const { client } = await rig.online({ store });
  const first = await rig.say(client, "tea", "first");
  for (let i = 0; i < 30; i++) await rig.time.wait(client.waitAck("tea", await rig.say(client, "tea", `${i}`)), 5000);
  expect((await client.view("tea", 0, 100)).length).toBe(10);
  expect(await client.waitAck("tea", first)).toMatchObject({ seq: 1 });
  await client.close();
  const plain = await openMemoryStore();
  await plain.drain();
  const fence = await plain.undrain().then(() => plain.drain());
  const cursor = (after: number) => ({ epoch: "e", after, messageId: after ? `m${after}` : "" });
  await plain.apply(fence, [{ kind: "snapshot", room: "r", cursor: cursor(0), messages: [], now: 0 }]);
  for (let at = 0; at < 12_000; at += 1000) {
    const messages = Array.from({ length: 1000 }, (_, i) => ({
      ...{ room: "r", epoch: "e", seq: at + i + 1, messageId: `m${at + i + 1}`, actor: "bob", clientMessageId: "" },
      ...{ text: "x", data: "", at: 1, fingerprint: "" },
    }));
    await plain.apply(fence, [{ kind: "rows", room: "r", from: cursor(at), to: cursor(at + 1000), messages, now: 1 }]);
  }
  expect((await plain.view("r", 0, 20_000)).length).toBe(10_000);
  expect((await plain.room("r"))?.trimmed).toMatchObject({ from: 1, to: 2000 });
  await plain.close();
});
