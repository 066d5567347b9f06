/** Close at every step of a send: whatever it is doing, nothing it holds outlives it. */

import { afterEach, describe, expect, it } from "vitest";
import { World } from "./world.ts";

let world: World;

afterEach(() => world.close());

/** A tab that is closed at the nth thing that it does with store, network or channel; whether it came so far. */
async function closedAt(step: number, withLocks: boolean): Promise<boolean> {
  world = new World(withLocks);
  const [tab, other] = await world.open(2);
  await world.pass(1000);
  let steps = 0;
  let closed: Promise<void> | undefined;
  tab!.onStep = () => {
    if (++steps === step) closed = tab!.close();
  };
  const id = tab!.client.nextMessageId();
  const sent = tab!.client.send("r", id, { text: "hello" }).then(
    () => true,
    () => false,
  );
  const acked = sent.then(() => tab!.client.waitAck("r", id)).catch(() => {});
  await world.pass(1000);
  const all = steps < step;
  await world.time.wait(closed ?? tab!.close(), 2000);
  await Promise.all([sent, acked]);
  tab!.onStep = () => {};
  // The other tab drains at once and has what was taken in, and no tab was told anything by one that had ended.
  await world.pass(withLocks ? 20_000 : 40_000);
  expect(other!.client.drains).toBe(true);
  expect(tab!.late).toEqual([]);
  expect(await other!.client.counts()).toMatchObject({ queued: 0, parked: 0, uncertain: 0 });
  if (await sent) expect(world.server.log.map((m) => m.clientMessageId)).toEqual([id]);
  expect(world.server.log.length).toBeLessThanOrEqual(1);
  await world.close();
  return !all;
}

describe.each([
  ["with Web Locks", true],
  ["by beats alone", false],
] as const)("a tab %s", (_, withLocks) => {
  it("closed at any step of a send lets go of store, lock and channels", async () => {
    let step = 1;
    while (await closedAt(step, withLocks)) step++;
    expect(step).toBeGreaterThan(10);
  });

  it("closed right after its receipt closes, and the next one on the store opens", async () => {
    world = new World(withLocks);
    const [tab] = await world.open(1);
    await world.pass(1000);
    const id = await tab!.say("bye");
    const receipt = tab!.client.waitAck("r", id).then(() => tab!.close());
    await world.time.wait(receipt, 5000);
    const [next] = await world.open(1);
    expect(next!.client.drains).toBe(true);
    expect(tab!.late).toEqual([]);
  });
});
