/** A browser that keeps nothing, or too little, or threw it away: the page says so before it lets go of a text. */

import { randomBytes } from "node:crypto";
import { chromium as playwright } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import { Server } from "../harness/server.ts";

let chromium: Chromium;
let server: Server;
let page: Console;

beforeAll(async () => {
  server = await Server.start();
  chromium = await Chromium.start();
});
afterAll(async () => {
  await chromium?.close();
  await server?.close();
});
afterEach(async () => {
  await page?.close();
});

it("IndexedDB blocked: nothing can be written before the reader has been told, and then it works in memory", async () => {
  page = await Console.open(chromium, server, (tab) =>
    tab.addInitScript(() => {
      Object.defineProperty(globalThis, "indexedDB", {
        get() {
          throw new DOMException("blocked by the user", "SecurityError");
        },
      });
    }),
  );
  await page.signIn("blocked");
  await page.page.getByRole("alert").getByText("gives the page no storage").waitFor();
  expect(await page.composer.count()).toBe(0);
  await page.page.getByRole("button", { name: "Go on without storage" }).click();
  await page.page.getByText("ends with this page").waitFor();
  await page.enter("blocked");
  await page.say("kept nowhere, said once");
  expect(await page.settled(1)).toEqual([{ seq: 1, text: "kept nowhere, said once", state: "sent" }]);
  expect(await server.history("blocked", "blocked")).toHaveLength(1);
  // What waits ends with the sign-out, too, and there is nothing to keep it in.
  page.relay.cut();
  await page.connection("Offline");
  await page.say("waits in vain");
  await page.page.getByRole("button", { name: "Sign out" }).click();
  await page.page.getByText("1 message waits to be sent. Without storage it ends with this sign-out.").waitFor();
  expect(await page.page.getByRole("button", { name: "Keep and sign out" }).count()).toBe(0);
  await page.page.getByRole("button", { name: "Delete and sign out" }).click();
  await page.page.getByRole("heading", { name: "hapax" }).waitFor();
  expect(await page.page.getByRole("alert").allTextContents()).not.toContainEqual(expect.stringContaining("isn't all"));
});

it("a private window keeps what waits over a reload", async () => {
  const browser = await playwright.launch({ executablePath: chromium.program, args: ["--no-sandbox"] });
  try {
    const context = await browser.newContext(); // off the record: nothing of it reaches the disk
    page = await Console.open({ context } as Chromium, server);
    await (await page.signIn("private")).enter("private");
    await page.connection("Online");
    page.relay.cut();
    await page.connection("Offline");
    await page.say("said in private");
    await page.page.reload();
    await page.waiting(1);
    page.relay.mend();
    await page.online();
    expect(await page.settled(1)).toEqual([{ seq: 1, text: "said in private", state: "sent" }]);
    expect(await server.history("private", "private")).toHaveLength(1);
  } finally {
    await browser.close();
  }
});

it("over its quota the composer keeps the text, and sends it once when there is room", async () => {
  // The browser looks at its quota when a page first stores something, and forgets the limit with the session that set it.
  let lift = async (): Promise<unknown> => undefined;
  page = await Console.open(chromium, server, async (tab, origin) => {
    const cdp = await chromium.context.newCDPSession(tab);
    await cdp.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 100_000 });
    lift = () => cdp.send("Storage.overrideQuotaForOrigin", { origin });
  });
  await (await page.signIn("quota")).enter("quota");
  await page.connection("Online");
  page.relay.cut();
  await page.connection("Offline");
  const fault = page.page.locator("#composer-fault", { hasText: "Not taken, and still here" });
  const said: string[] = [];
  for (let i = 0; !(await fault.count()) && i < 20; i++) {
    said.push(randomBytes(6_000).toString("hex")); // what can be compressed takes no room
    await page.composer.fill(said.at(-1)!);
    await page.composer.press("Enter");
    await page.page.waitForFunction(
      () =>
        document.querySelector("#composer-fault")?.textContent ||
        document.querySelector<HTMLTextAreaElement>("#composer")?.value === "",
    );
  }
  expect(await fault.count()).toBe(1);
  expect(await page.composer.inputValue()).toBe(said.at(-1));
  await page.waiting(said.length - 1);
  await lift();
  page.relay.mend();
  await page.page.reload(); // the browser looks at its quota anew
  await page.composer.waitFor();
  expect(await page.composer.inputValue()).toBe(said.at(-1));
  await page.composer.press("Enter");
  await page.page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>("#composer")?.value === "");
  await page.online();
  const seen = await page.settled(said.length);
  expect(new Set(seen.map((l) => l.state))).toEqual(new Set(["sent"]));
  expect((await server.history("quota", "quota")).map((m) => m.text)).toEqual(said);
});

it("storage cleared by hand while rows wait is noticed, and told", async () => {
  page = await Console.open(chromium, server);
  await (await page.signIn("cleared")).enter("cleared");
  await page.say("before");
  await page.settled(1);
  page.relay.cut();
  await page.connection("Offline");
  await page.say("lost with the storage");
  await page.waiting(1);
  const cdp = await chromium.context.newCDPSession(page.page);
  await cdp.send("Storage.clearDataForOrigin", { origin: page.relay.url, storageTypes: "indexeddb" });
  // What is said now is not taken in silence either.
  await page.composer.fill("and now?");
  await page.composer.press("Enter");
  await page.page.locator("#composer-fault", { hasText: "Not taken, and still here" }).waitFor();
  expect(await page.composer.inputValue()).toBe("and now?");
  page.relay.mend();
  await page.page.reload();
  await page.page.getByRole("alert").getByText("threw this page's storage away").waitFor();
  await page.composer.press("Enter");
  const seen = await page.settled(2);
  expect(seen.map((l) => l.text)).toEqual(["before", "and now?"]);
  expect((await server.history("cleared", "cleared")).map((m) => m.text)).toEqual(["before", "and now?"]);
});

it("a store that belongs to another server is left as it is, and another can begin beside it", async () => {
  page = await Console.open(chromium, server);
  await (await page.signIn("moved")).enter("moved");
  await page.connection("Online");
  page.relay.cut();
  await page.connection("Offline");
  await page.say("for the first server");
  const other = await Server.start();
  try {
    // The reader has opened the other server's link in this browser before.
    const [name, value] = (await other.openLink(page.relay.url)).split("=");
    await chromium.context.addCookies([{ name: name!, value: value!, url: `${page.relay.url}/v1/` }]);
    page.relay.turnTo(() => other.address);
    page.relay.mend();
    await page.page.getByRole("alert").getByText("belongs to another server").waitFor();
    expect(await other.history("moved", "moved")).toEqual([]);
    expect(await page.page.locator(".waiting").count()).toBe(1);
    await page.page.getByRole("button", { name: "Begin a new store" }).click();
    await page.connection("Online");
    await page.say("for the second");
    expect((await page.settled(1)).map((l) => l.text)).toEqual(["for the second"]);
    expect((await other.history("moved", "moved")).map((m) => m.text)).toEqual(["for the second"]);
  } finally {
    await other.close();
  }
});
