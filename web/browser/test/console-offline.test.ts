/** Away, killed, reloaded, with a wrong clock: what was said is said once, in order, and shown so. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
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
beforeEach(async () => {
  page = await Console.open(chromium, server);
});
afterEach(async () => {
  await page?.close();
});

const ten = Array.from({ length: 10 }, (_, i) => `message ${i + 1}`);
const texts = (rows: readonly { readonly text: string }[]) => rows.map((r) => r.text);

it("ten messages said offline go out in order, once, when the network is back", async () => {
  await (await page.signIn("away")).enter("away");
  await page.connection("Online");
  await page.page.getByRole("switch", { name: "Cut network" }).click();
  await page.connection("Offline");
  for (const text of ten) await page.say(text);
  await page.waiting(10);
  const waiting = await page.seen();
  expect(texts(waiting)).toEqual(ten);
  expect(new Set(waiting.map((l) => l.state))).toEqual(new Set(["queued"]));
  await page.page.getByText(/next try in \d+ s/).waitFor();
  await page.page.getByRole("switch", { name: "Cut network" }).click();
  await page.online();
  expect(texts(await page.settled(10))).toEqual(ten);
  expect(texts(await server.history("away", "away"))).toEqual(ten);
  expect([...page.relay.sends().values()]).toEqual(ten.map(() => 1));
});

it("a message cancelled offline is gone; one that was sent can't be", async () => {
  await (await page.signIn("cancel")).enter("cancel");
  await page.connection("Online");
  page.relay.cut();
  await page.connection("Offline");
  await page.say("keep");
  await page.say("drop");
  await page.page.getByRole("button", { name: "Cancel: drop" }).click();
  await page.waiting(1);
  page.relay.mend();
  await page.online();
  expect(texts(await page.settled(1))).toEqual(["keep"]);
  expect(texts(await server.history("cancel", "cancel"))).toEqual(["keep"]);
});

it("a server killed and started again has each message once", async () => {
  await (await page.signIn("killed")).enter("killed");
  await page.say("before");
  await page.settled(1);
  await server.kill();
  await page.connection("Offline");
  for (const text of ["during", "still"]) await page.say(text);
  await server.start();
  await page.online();
  expect(texts(await page.settled(3))).toEqual(["before", "during", "still"]);
  expect(texts(await server.history("killed", "killed"))).toEqual(["before", "during", "still"]);
});

it("a page reloaded while a message is on its way shows it once, sent", async () => {
  await (await page.signIn("reload")).enter("reload");
  await page.connection("Online");
  page.relay.pass = (f) => !["ack", "message"].includes(String(f.data.type));
  for (const text of ["one", "two"]) await page.say(text);
  await page.relay.until(() => page.relay.of("server", "ack").length >= 2);
  await page.page.reload();
  page.relay.pass = () => true;
  const seen = await page.settled(2);
  expect(seen.map(({ text, state }) => [text, state])).toEqual([
    ["one", "sent"],
    ["two", "sent"],
  ]);
  expect(texts(await server.history("reload", "reload"))).toEqual(["one", "two"]);
});

it("a page reloaded offline still holds what waits, and says it", async () => {
  await (await page.signIn("held")).enter("held");
  await page.connection("Online");
  page.relay.cut();
  await page.connection("Offline");
  for (const text of ten) await page.say(text);
  await page.page.reload();
  await page.waiting(10);
  expect(texts(await page.seen())).toEqual(ten);
  page.relay.mend();
  await page.online();
  await page.settled(10);
  expect(texts(await server.history("held", "held"))).toEqual(ten);
});

it.each([
  ["a day ahead", 86_400_000],
  ["a day back", -86_400_000],
])("a clock moved %s keeps nothing waiting and sends nothing twice", async (name, shift) => {
  const room = name.replaceAll(" ", "-");
  await page.page.addInitScript(() => {
    const real = Date.now.bind(Date);
    const clock = { shift: 0 };
    Object.assign(globalThis, { clock });
    Date.now = () => real() + clock.shift;
  });
  await page.page.reload();
  await (await page.signIn(room)).enter(room);
  await page.say("before");
  await page.settled(1);
  page.relay.cut();
  await page.connection("Offline");
  await page.say("offline");
  await page.page.evaluate((shift) => {
    (globalThis as unknown as { clock: { shift: number } }).clock.shift = shift;
  }, shift);
  await page.say("after");
  page.relay.mend();
  await page.online();
  expect(texts(await page.settled(3))).toEqual(["before", "offline", "after"]);
  expect(texts(await server.history(room, room))).toEqual(["before", "offline", "after"]);
  expect([...page.relay.sends().values()]).toEqual([1, 1, 1]);
});

it("text that wasn't sent stays with its room", async () => {
  await (await page.signIn("draft")).enter("here");
  await page.composer.fill("half a thought");
  await page.enter("there");
  expect(await page.composer.inputValue()).toBe("");
  await page.composer.fill("another");
  await page.page.reload();
  await page.composer.waitFor();
  expect(await page.composer.inputValue()).toBe("another");
  await page.enter("here");
  expect(await page.composer.inputValue()).toBe("half a thought");
});

/** Once `deaf` is set nothing in the page hears that a transaction is complete: what is stored is, and nobody is told. */
const deafness = `{
  const prototype = IDBTransaction.prototype;
  const own = Object.getOwnPropertyDescriptor(prototype, "oncomplete");
  const ear = (f) => (e) => { if (!globalThis.deaf) f.call(e.target, e); };
  Object.defineProperty(prototype, "oncomplete", { ...own, set(f) { own.set.call(this, f && ear(f)); } });
  const add = prototype.addEventListener;
  prototype.addEventListener = function (type, f, how) {
    add.call(this, type, type === "complete" ? ear(f) : f, how);
  };
}`;

it("a page reloaded between the store's taking a message and the composer's hearing of it says it once", async () => {
  await page.close();
  page = await Console.open(chromium, server, (tab) => tab.addInitScript(deafness));
  await (await page.signIn("between")).enter("between");
  await page.page.getByText("Nothing has been said here yet.").waitFor();
  await page.say("before");
  await page.settled(1);
  await page.page.getByText("The beginning.").waitFor();
  expect(await page.page.getByText("Nothing has been said here yet.").count()).toBe(0);
  page.relay.cut();
  await page.page.evaluate("globalThis.deaf = true");
  await page.composer.fill("between");
  await page.composer.press("Enter");
  // The room left and entered again has the same draft, which is on its way.
  await page.enter("elsewhere");
  await page.enter("between");
  await page.composer.press("Enter");
  await page.page.reload();
  page.relay.mend();
  await page.settled(2);
  expect(await page.composer.inputValue()).toBe("between");
  await page.composer.press("Enter");
  await page.page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>("#composer")?.value === "");
  await page.settled(2);
  // The same words, written anew, are another message.
  await page.say("between");
  expect(texts(await page.settled(3))).toEqual(["before", "between", "between"]);
  expect(texts(await server.history("between", "between"))).toEqual(["before", "between", "between"]);
});
