/** A tab that is frozen at any step of a send, and woken: others went on meanwhile, and nothing failed. */

import { afterEach, expect, it } from "vitest";
import { World } from "./world.ts";

let world: World;

afterEach(() => world.close());

/** Freezes the leader at the nth step of a send, for a minute in which another tab sends; whether it came so far. */
async function frozenAt(step: number, withLocks: boolean, long: boolean): Promise<boolean> {
  world = new World(withLocks);
  const [leader, other] = await world.open(2);
  await world.pass(1000);
  let steps = 0;
  leader!.onStep = () => {
    if (++steps === step) leader!.freeze();
  };
  const sent = leader!.say("of the frozen one");
  await world.pass(100);
  const reached = steps >= step;
  if (!reached) leader!.freeze();
  await world.pass(long ? 60_000 : 50);
  const ids = long ? [await other!.say("of the other")] : [];
  await world.pass(1000);
  leader!.onStep = () => {};
  leader!.thaw();
  await world.pass(60_000);
  ids.push(await sent);
  expect(world.server.log.map((m) => m.clientMessageId).sort()).toEqual(ids.sort());
  for (const t of world.tabs) expect(t.events.filter((e) => e.type === "failed")).toEqual([]);
  expect(await other!.client.counts()).toMatchObject({ queued: 0, parked: 0 });
  await world.close();
  return reached;
}

it.each([
  ["with Web Locks, for a minute", true, true],
  ["with Web Locks, for a moment", true, false],
  ["by beats alone, for a minute", false, true],
  ["by beats alone, for a moment", false, false],
] as const)("waking raises no failed (%s)", async (_, withLocks, long) => {
  let step = 1;
  while (await frozenAt(step, withLocks, long)) step++;
  expect(step).toBeGreaterThan(10);
});
