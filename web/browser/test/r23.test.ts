/**
 * R23 in a real Chromium against the real server: five tabs, twenty rows queued without a network; it comes back, and the tab
 * that sends is closed, killed, frozen or hung in mid-flight. What it sent last is partly lost on its way, partly stored
 * with its ack lost.
 */

import type { Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import type { Frame } from "../harness/relay.ts";
import { actor, Tabs } from "../harness/tabs.ts";

let tabs: Tabs;

afterEach(() => tabs?.close());

/** Of the leader's sends the first two are answered; every second one after that is lost, the others' acks are. */
function unreliable(connection: number): (f: Frame) => boolean {
  const lost = new Set<unknown>();
  let n = 0;
  return (f) => {
    if (f.connection !== connection) return true;
    if (f.from === "browser" && f.data.type === "send") {
      n++;
      if (n > 2) lost.add(f.data.clientMessageId);
      return n <= 2 || n % 2 === 0;
    }
    const message = f.data.message as { clientMessageId?: string } | undefined;
    return !lost.has(f.data.clientMessageId ?? message?.clientMessageId);
  };
}

const ways: Record<string, (leader: Page) => Promise<unknown>> = {
  closed: (leader) => leader.close({ runBeforeUnload: false }),
  killed: (leader) => tabs.chromium.crash(leader),
  frozen: (leader) => tabs.chromium.setFrozen(leader, true),
  // An endless loop, which tells nobody anything.
  hung: async (leader) => {
    void leader
      .evaluate(() => {
        for (;;);
      })
      .catch(() => undefined);
  },
};

describe("R23 five tabs whose leader is", () => {
  it.each(Object.keys(ways))("%s in mid-flight", async (way) => {
    tabs = await Tabs.start();
    const { relay, server } = tabs;
    relay.cut();
    const pages: Page[] = [];
    for (let i = 0; i < 5; i++) pages.push((await tabs.open()).page);
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push(await pages[i % 5]!.evaluate((i) => window.tab.say("r", `text ${i}`), i));
    // The lead goes to a tab that is in sight, and stays once none is: so that it changes by what happens to its leader alone.
    const leader = pages.at(-1)!;
    await leader.bringToFront();
    await expect.poll(() => leader.evaluate(() => window.tab.drains())).toBe(true);
    // A hidden leader that hangs would be given 90 s.
    if (way !== "hung") await tabs.chromium.context.pages()[0]!.bringToFront();
    const before = await tabs.fence(leader);

    relay.pass = unreliable(1);
    relay.mend();
    await relay.until(() => relay.of("browser", "send").length >= 6);
    await ways[way]!(leader);

    const rest = pages.filter((p) => p !== leader);
    const next = await tabs.leader(rest);
    const left = () => next.evaluate(async () => (await window.tab.rows()).length);
    await expect.poll(left).toBe(0);
    const takeOvers = (await tabs.fence(next)) - before;
    expect(takeOvers).toBe(1);
    expect((await server.history("r", actor)).map((m) => m.clientMessageId)).toEqual(ids);
    const sends = relay.sends();
    expect([...sends.keys()].sort()).toEqual([...ids].sort());
    // The one that took over sends a row once. The leader before may have sent it again by itself: nobody answered its questions.
    const after = relay.of("browser", "send").filter((f) => f.connection !== 1);
    expect(new Set(after.map((f) => f.data.clientMessageId)).size).toBe(after.length);
    expect(Math.max(...sends.values())).toBeGreaterThanOrEqual(2); // those that were lost did go again

    for (const page of rest) {
      await expect.poll(() => page.evaluate(() => window.tab.view("r"))).toEqual(ids);
      expect(await page.evaluate(() => window.tab.fellBack())).toEqual([]);
    }
    if (way === "frozen") {
      await tabs.chromium.setFrozen(leader, false);
      await expect.poll(() => leader.evaluate(() => window.tab.view("r"))).toEqual(ids);
      // It finds out on waking, a moment after it reads the view.
      await expect.poll(() => leader.evaluate(() => [window.tab.drains(), window.tab.fellBack()])).toEqual([false, []]);
      expect(relay.sends()).toEqual(sends);
    }
  });
});
