/** The tab that is seen sends: a hidden one lets it have the lead, and keeps it where nobody is seen. */

import { afterEach, describe, expect, it } from "vitest";
import { World } from "./world.ts";

let world: World;

afterEach(() => world.close());

describe.each([
  ["with Web Locks", true],
  ["by beats alone", false],
] as const)("tabs %s", (_, withLocks) => {
  it("give the lead to the one that is visible, once, and it goes on sending", async () => {
    world = new World(withLocks);
    const tabs = await world.open(5);
    await world.pass(1000);
    const seen = tabs[3];
    expect(world.leader?.name).toBe("tab 0");
    for (const t of tabs) if (t !== seen) t.hide(1000);
    await world.pass(20_000);
    expect([world.leader?.name, world.takeOvers]).toEqual([seen!.name, 1]);
    const ids = [await tabs[1]!.say("of a hidden one"), await seen!.say("of the visible one")];
    await world.pass(5000);
    expect(world.server.log.map((m) => m.clientMessageId).sort()).toEqual(ids.sort());
    await world.pass(3_600_000);
    expect([world.leader?.name, world.takeOvers]).toEqual([seen!.name, 1]);
    expect(tabs.flatMap((t) => t.events).filter((e) => e.type === "failed")).toEqual([]);
  });

  it("where all are hidden keep it where it is, and the one that comes to the front gets it", async () => {
    world = new World(withLocks);
    const tabs = await world.open(3);
    await world.pass(1000);
    for (const t of tabs) t.hide(1000);
    await world.pass(600_000);
    expect([world.leader?.name, world.takeOvers]).toEqual(["tab 0", 0]);
    tabs[2]!.show();
    await world.pass(20_000);
    expect([world.leader?.name, world.takeOvers]).toEqual(["tab 2", 1]);
  });

  it("that stood back follow a visible one that ended before it led", async () => {
    world = new World(withLocks);
    const tabs = await world.open(3);
    await world.pass(1000);
    for (const t of tabs.slice(0, 2)) t.hide(1000);
    await world.pass(5500);
    tabs[2]!.kill();
    await world.pass(60_000);
    expect(["tab 0", "tab 1"]).toContain(world.leader?.name);
  });
});
