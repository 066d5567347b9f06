/** R23: five tabs, twenty queued rows, and the tab that sends is closed, killed, frozen or hung in mid-flight. */

import { afterEach, describe, expect, it } from "vitest";
import { deadAfter, hiddenDeadAfter } from "../../src/tabs/leader.ts";
import { type Tab, World } from "./world.ts";

let world: World;

afterEach(() => world.close());

/** Twenty rows, queued without a network by five tabs in turn. */
async function queued(): Promise<{ tabs: Tab[]; ids: string[] }> {
  world.server.cut();
  const tabs = await world.open(5);
  const ids = [];
  for (let i = 0; i < 20; i++) ids.push(await tabs[i % 5]!.say(`text ${i}`));
  await world.pass(1);
  return { tabs, ids };
}

/** Lets time pass until a frame with a row has left, whose answer is held. */
async function inFlight(): Promise<void> {
  const before = world.server.frames;
  while (world.server.frames === before) await world.pass(100);
}

/** Lets time pass until the server has stored all and no tab has a row left. */
async function delivered(ids: readonly string[], within: number): Promise<void> {
  for (const end = world.time.t + within; world.time.t < end; await world.pass(1000)) {
    const left = await world.tabs.find((t) => t.running)!.client.counts();
    if (left.queued === 0 && world.server.log.length === ids.length) return;
  }
  throw new Error(`${world.server.log.length} of ${ids.length} stored after ${within} ms`);
}

/** What must hold at the end, whatever happened. */
async function check(ids: readonly string[]): Promise<void> {
  expect(world.server.log.map((m) => m.clientMessageId)).toEqual(ids);
  for (const [, senders] of world.server.sends) expect(senders.length).toBeLessThanOrEqual(1 + world.takeOvers);
  await world.pass(3000);
  for (const t of world.tabs.filter((t) => t.running)) {
    // One bubble each, in every tab, and none went from sent back to waiting.
    expect((await t.client.view("r", 0, 100)).map((m) => m.clientMessageId)).toEqual(ids);
    const confirmed = new Set<string>();
    for (const e of t.events) {
      if (e.type === "confirmed") confirmed.add(e.key.id);
      if (e.type === "row") expect(confirmed).not.toContain(e.row.id);
    }
  }
}

const ways: Record<string, (t: Tab) => unknown> = {
  closed: (t) => t.close(),
  killed: (t) => t.kill(),
  frozen: (t) => t.freeze(),
  hung: (t) => t.hang(),
};

describe.each([
  ["with Web Locks", true],
  ["by beats alone", false],
] as const)("five tabs %s", (_, withLocks) => {
  it("send each row once", async () => {
    world = new World(withLocks);
    const { ids } = await queued();
    world.server.online = true;
    await delivered(ids, 90_000);
    expect(world.takeOvers).toBe(0);
    await check(ids);
  });

  it.each(Object.keys(ways).flatMap((way) => (["held", "lost"] as const).map((what) => [way, what] as const)))(
    "whose leader is %s in mid-flight, where what it sent is %s",
    async (way, what) => {
      world = new World(withLocks);
      const { ids } = await queued();
      world.server.online = true;
      world.server[what === "held" ? "holding" : "losing"] = true;
      await inFlight();
      const leader = world.leader!;
      await ways[way]!(leader);
      world.server.losing = false;
      world.server.release();
      await delivered(ids, 120_000);
      expect(world.takeOvers).toBe(1);
      expect(world.leader).not.toBe(leader);
      // A row that was stored comes back in the room's own rows; one that was lost goes once more.
      expect(world.server.frames).toBe(what === "held" ? 20 : 21);
      await check(ids);
      leader.thaw();
      await world.pass(30_000);
      await check(ids);
      expect(world.tabs.filter((t) => t.alive && t.client.drains)).toHaveLength(1);
    },
  );

  it("whose leaders die one after the other", async () => {
    world = new World(withLocks);
    const { ids } = await queued();
    world.server.online = true;
    for (let i = 0; i < 4; i++) {
      world.server.holding = true;
      await inFlight();
      world.leader!.kill();
      world.server.release();
    }
    await delivered(ids, 120_000);
    expect(world.takeOvers).toBe(4);
    await check(ids);
  });

  it("hear nothing of each other but through the store", async () => {
    world = new World(withLocks);
    world.channels = false;
    const { ids } = await queued();
    world.server.online = true;
    world.server.holding = true;
    await inFlight();
    world.leader!.hang();
    world.server.release();
    await delivered(ids, 120_000);
    await check(ids);
  });
});

describe("a silent leader", () => {
  it("is followed after 15 s without a beat, not before", async () => {
    world = new World();
    await world.open(5);
    await world.pass(20_000);
    const leader = world.leader!;
    leader.hang();
    await world.pass(deadAfter - 5_000); // the last beat may have come just before
    expect(world.takeOvers).toBe(0);
    await world.pass(15_000);
    expect([world.takeOvers, world.leader !== leader]).toEqual([1, true]);
  });

  it.each([
    ["with Web Locks", true],
    ["by beats alone", false],
  ] as const)("is followed once where all others find it dead at the same moment, %s", async (_, withLocks) => {
    for (const slow of [1, 50, 300, 700, 1500]) {
      world = new World(withLocks);
      await world.open(5);
      world.slow = slow; // each looks before the first of them has raised the fence
      await world.pass(20_000);
      const before = await world.fence();
      world.leader!.hang();
      await world.pass(60_000);
      expect([slow, (await world.fence()) - before, world.takeOvers]).toEqual([slow, 1, 1]);
      expect(world.locks.steals).toBe(withLocks ? 1 : 0);
      expect(world.tabs.filter((t) => t.running && t.client.drains)).toHaveLength(1);
      await world.close();
    }
  });

  it("that said it is hidden is followed after 90 s, not before", async () => {
    world = new World();
    const tabs = await world.open(5);
    const leader = world.leader!;
    for (const t of tabs) t.hide(1000);
    await world.pass(20_000);
    leader.hang();
    await world.pass(hiddenDeadAfter - 5_000);
    expect(world.takeOvers).toBe(0);
    await world.pass(15_000);
    expect(world.takeOvers).toBe(1);
  });

  it("that is hidden, with timers once a minute, is not robbed", async () => {
    world = new World();
    for (const t of await world.open(5)) t.hide(60_000);
    await world.pass(3_600_000);
    expect(world.takeOvers).toBe(0);
  });

  it("that slept with all the others is not robbed", async () => {
    world = new World();
    const tabs = await world.open(5);
    await world.pass(60_000);
    for (const t of tabs) t.hang();
    await world.pass(8 * 3_600_000);
    for (const t of tabs.reverse()) {
      t.thaw(); // the leader last
      await world.pass(500);
    }
    await world.pass(60_000);
    expect(world.takeOvers).toBe(0);
  });

  it.each([
    ["with Web Locks", true, 2_000],
    ["by beats alone", false, 6_000],
  ] as const)(
    "that wakes finds the fence raised, closes its connection and sends nothing more, %s",
    async (_, withLocks, within) => {
      world = new World(withLocks);
      const tabs = await world.open(3);
      await world.pass(10_000);
      const leader = world.leader!;
      leader.hang();
      await world.pass(40_000);
      const next = world.leader!;
      leader.thaw();
      await world.pass(within);
      expect([leader.client.drains, leader.client.state.state, next.client.drains]).toEqual([false, "online", true]);
      const id = await leader.say("by the one that woke");
      await world.pass(5000);
      expect(world.server.sends.get(id)).toEqual([next.name]);
      expect(tabs.filter((t) => t.client.drains)).toEqual([next]);
    },
  );
});

describe("a frozen follower", () => {
  it("doesn't keep the lock from the others, and is in step when it wakes", async () => {
    world = new World();
    const tabs = await world.open(3);
    await world.pass(5000);
    const leader = world.leader!;
    const [first, second] = tabs.filter((t) => t !== leader);
    first!.freeze();
    const id = await leader.say("said while it is frozen");
    await leader.close();
    await world.pass(2000);
    expect(world.leader).toBe(second);
    first!.thaw();
    await world.pass(2000);
    expect((await first!.client.view("r", 0, 9)).map((m) => m.clientMessageId)).toEqual([id]);
  });

  it("that is alone takes over when it comes back", async () => {
    world = new World();
    const [only] = await world.open(1);
    await world.pass(2000);
    only!.freeze();
    await world.pass(60_000);
    only!.thaw();
    await world.pass(3000);
    expect([only!.client.drains, only!.client.state.state]).toEqual([true, "online"]);
  });
});
