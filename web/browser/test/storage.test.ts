/** Storage that is full, cleared, blocked or private, and tabs and servers that begin anew, in a real Chromium. */

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { actor, Tabs } from "../harness/tabs.ts";

let tabs: Tabs;

beforeAll(async () => {
  tabs = await Tabs.start();
});

afterAll(() => tabs?.close());

/** Each test has a store of its own: what the one before left is cleared with its tabs. */
afterEach(async () => {
  tabs.relay.pass = () => true;
  for (const page of tabs.chromium.context.pages().slice(1)) await page.close();
  await clear("all");
});

async function clear(storageTypes: string): Promise<void> {
  const session = await tabs.chromium.context.newCDPSession(tabs.chromium.context.pages()[0]!);
  await session.send("Storage.clearDataForOrigin", { origin: tabs.relay.url, storageTypes });
  await session.detach();
}

/** What the server holds of this test's own messages. */
const stored = async (ids: readonly string[]) =>
  (await tabs.server.history("r", actor)).map((m) => m.clientMessageId).filter((id) => ids.includes(id!));

const say = async (page: Page, n: number): Promise<string[]> => {
  const ids = [];
  for (let i = 0; i < n; i++) ids.push(await page.evaluate((i) => window.tab.say("r", `text ${i}`), i));
  return ids;
};

/** Waits until the outbox is empty, and holds the server's log against what was said: each once, in order. */
async function allStored(page: Page, ids: readonly string[]): Promise<void> {
  await expect.poll(() => page.evaluate(async () => (await window.tab.rows()).length)).toBe(0);
  expect(await stored(ids)).toEqual(ids);
  const shown = () => page.evaluate(() => window.tab.view("r"));
  await expect.poll(async () => (await shown()).filter((id) => ids.includes(id))).toEqual(ids);
}

it("a quota that is exceeded is told before anything of a message is lost, and room makes it go on", async () => {
  const page = await tabs.chromium.open(`${tabs.relay.url}/tab`);
  const quota = await tabs.chromium.context.newCDPSession(page);
  // From the beginning, as the browser remembers for a while how much room there was.
  await quota.send("Storage.overrideQuotaForOrigin", { origin: tabs.relay.url, quotaSize: 300_000 });
  await tabs.openIn(page);
  tabs.relay.pass = (f) => f.data.type !== "ack" && f.data.type !== "message"; // so that rows stay
  let refused = "";
  for (let n = 0; n < 100 && refused === ""; n++) {
    refused = await page.evaluate(() => window.tab.trySay("r", "0123456789".repeat(1_500)));
  }
  expect(refused).toBe("quota");
  const ids = (await page.evaluate(() => window.tab.rows())).map((r) => r.id);
  expect(ids.length).toBeGreaterThan(0);
  await quota.send("Storage.overrideQuotaForOrigin", { origin: tabs.relay.url });
  await page.reload();
  await tabs.openIn(page);
  tabs.relay.pass = () => true;
  await allStored(page, [...ids, ...(await say(page, 1))]);
});

it("storage cleared by hand is noticed in the open tab, and missed by the next", async () => {
  const { page, lost, created } = await tabs.open();
  expect([lost, created]).toEqual([false, true]);
  await clear("indexeddb");
  await expect.poll(() => page.evaluate(() => window.tab.trySay("r", "into nothing"))).not.toBe("");
  await page.reload();
  expect(await tabs.openIn(page)).toEqual({ lost: true, created: true });
  await allStored(page, await say(page, 1));
  await page.reload();
  expect(await tabs.openIn(page)).toEqual({ lost: false, created: false });
});

it("IndexedDB that is blocked is told at once", async () => {
  const page = await tabs.chromium.context.newPage();
  await page.addInitScript(() => {
    Object.defineProperty(window, "indexedDB", {
      get() {
        throw new DOMException("The operation is insecure.", "SecurityError");
      },
    });
  });
  await page.goto(`${tabs.relay.url}/tab`);
  await page.waitForFunction(() => window.tab);
  expect(await page.evaluate((token) => window.tab.tryOpen(token), tabs.token)).toBe("unavailable");
});

it("a private window has a store that ends with it", async () => {
  for (let i = 0; i < 2; i++) {
    const context = await tabs.chromium.context.browser()!.newContext();
    const page = await context.newPage();
    await page.goto(`${tabs.relay.url}/tab`);
    expect(await tabs.openIn(page)).toEqual({ lost: false, created: true });
    await allStored(page, await say(page, 2));
    await context.close();
  }
});

it("a tab loaded anew in mid-send sends nothing twice, though no ack came", async () => {
  const { page } = await tabs.open();
  tabs.relay.pass = (f) => f.data.type !== "ack" && f.data.type !== "message";
  const from = tabs.relay.of("browser", "send").length;
  const ids = await say(page, 5);
  await tabs.relay.until(() => tabs.relay.of("browser", "send").length > from);
  tabs.relay.pass = () => true;
  await page.reload();
  await tabs.openIn(page);
  await allStored(page, ids);
});

it("a server that is killed and started again gets what was said meanwhile, once and in order", async () => {
  const { page } = await tabs.open();
  const before = await say(page, 3);
  await tabs.server.kill();
  const ids = [...before, ...(await say(page, 7))];
  await tabs.server.start();
  await allStored(page, ids);
});

it("the browser says how firmly it keeps the storage", async () => {
  const { page } = await tabs.open();
  const s = await page.evaluate(() => window.tab.storage());
  expect([typeof s.persistent, s.usage! > 0, s.quota! > s.usage!]).toEqual(["boolean", true, true]);
});
