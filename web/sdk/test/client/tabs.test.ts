import { describe, expect, test } from "vitest";
import { all, Rig } from "../support/rig.ts";
import { settle } from "../support/virtual.ts";

/** Two tabs on one store: the first drains it. */
async function twoTabs() {
  const rig = new Rig();
  const channel = rig.channels.make;
  const first = await rig.online({ channel });
  const second = await rig.online({ channel });
  return { rig, first, second, channel };
}

describe("tabs of one store", () => {
  test("one drains, and both know the connection", async () => {
    const { first, second } = await twoTabs();
    expect([first.client.drains, second.client.drains]).toEqual([true, false]);
    expect([first.client.state.state, second.client.state.state]).toEqual(["online", "online"]);
    expect([first.client.stats?.connects, second.client.stats]).toEqual([1, undefined]);
  });

  test("a follower's row is stored, sent by the other, and confirmed to both", async () => {
    const { rig, first, second } = await twoTabs();
    const id = await rig.say(second.client, "tea", "x");
    const receipt = await rig.time.wait(second.client.waitAck("tea", id), 5000);
    expect(receipt).toMatchObject({ seq: 1, duplicate: false });
    await settle();
    for (const { events } of [first, second]) {
      expect(events.filter((e) => e.type === "confirmed")).toMatchObject([{ key: { room: "tea", id }, seq: 1 }]);
    }
  });

  test("a follower's rooms come into the store, and go with its wish", async () => {
    const { rig, first, second } = await twoTabs();
    second.client.subscribe("milk");
    await rig.time.pass(100);
    expect(await second.client.room("milk")).toMatchObject({ cursor: { epoch: "e1", after: 0 } });
    await rig.say(first.client, "milk", "x");
    await rig.time.pass(100);
    expect(await second.client.view("milk", 0, 9)).toMatchObject([{ seq: 1, text: "x", position: 2 }]);
    expect(rig.server.rooms.get("milk")?.live.size).toBe(1);
    second.client.unsubscribe("milk");
    await rig.time.pass(100);
    expect(rig.server.rooms.get("milk")?.live.size).toBe(0);
  });

  test("a room that the other tab still wants stays subscribed", async () => {
    const { rig, first, second } = await twoTabs();
    for (const t of [first, second]) t.client.subscribe("milk");
    await rig.time.pass(100);
    first.client.unsubscribe("milk");
    await rig.time.pass(100);
    expect(rig.server.rooms.get("milk")?.live.size).toBe(1);
    await second.client.close();
    await rig.time.pass(100);
    expect(rig.server.rooms.get("milk")?.live.size).toBe(0);
  });

  test("a follower's question is answered", async () => {
    const { rig, first, second } = await twoTabs();
    const id = await rig.say(first.client, "tea", "x");
    await rig.time.pass(100);
    expect(await rig.time.wait(second.client.status("tea", id), 5000)).toMatchObject({ seq: 1 });
    const unknown = rig.time.wait(second.client.status("tea", "nobody"), 5000);
    await expect(unknown).rejects.toMatchObject({ code: "not_found" });
  });

  test("the other takes over when the first ends, and sends what waits", async () => {
    const { rig, first, second } = await twoTabs();
    first.client.disconnect();
    second.client.subscribe("tea");
    const id = await rig.say(second.client, "tea", "x");
    await rig.time.pass(1000);
    expect(await all(second.client.outbox())).toMatchObject([{ id, state: "queued" }]);
    await first.client.close();
    await rig.time.pass(2000);
    expect(second.client.drains).toBe(true);
    expect(second.events.filter((e) => e.type === "drains")).toMatchObject([{ here: true }]);
    expect(await all(second.client.outbox())).toEqual([]);
    expect(await second.client.view("tea", 0, 9)).toMatchObject([{ text: "x", clientMessageId: id }]);
  });

  test("a tab that finds the fence raised lets go, and its row is sent by the other", async () => {
    const { rig, first, second } = await twoTabs();
    // As after a steal: the lock is gone, the tab doesn't know.
    const store = (first.client as unknown as { opts: { store: { undrain(): Promise<void> } } }).opts.store;
    await store.undrain();
    await rig.time.pass(1500);
    expect(second.client.drains).toBe(true);
    const id = await rig.say(first.client, "tea", "x");
    await rig.time.pass(2000);
    expect([first.client.drains, second.client.drains]).toEqual([false, true]);
    expect(rig.server.rooms.get("tea")?.rows).toMatchObject([{ clientMessageId: id, seq: 1 }]);
    expect(rig.server.sends.get(id)).toBe(1);
  });

  test("a hint that it no longer drains ends the connection at once", async () => {
    const rig = new Rig();
    const { openMemoryStore } = await import("../../src/store/memory.ts");
    const store = await openMemoryStore({ medium: rig.medium });
    let hint = (_: "lost"): void => {};
    const listen = store.listen.bind(store);
    store.listen = (f) => {
      hint = f as typeof hint;
      return listen(f);
    };
    const { client, events } = await rig.online({ store });
    expect(client.state.state).toBe("online");
    hint("lost");
    await settle();
    expect(client.state.state).toBe("offline");
    expect(events.at(-1)).toEqual({ type: "drains", here: false });
    await rig.time.pass(2000); // the page comes back: nobody else drains it
    expect([client.drains, client.state.state]).toEqual([true, "online"]);
  });

  test("'connect' and 'try now' of a follower reach the tab that drains", async () => {
    const { rig, first, second } = await twoTabs();
    second.client.disconnect();
    await rig.time.pass(100);
    expect(first.client.state.state).toBe("offline");
    second.client.connect();
    await rig.time.pass(100);
    expect([first.client.state.state, second.client.state.state]).toEqual(["online", "online"]);
  });
});
