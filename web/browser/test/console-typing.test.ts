/** Whoever types fast: the page never moves the focus under their hands. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import { Server } from "../harness/server.ts";

let chromium: Chromium;
let server: Server;
let page: Console;

/** Until `letGo` is called no lock is given, and so the page's client doesn't open. */
const slowStore = `{
  const request = LockManager.prototype.request;
  const free = new Promise((resolve) => { globalThis.letGo = resolve; });
  LockManager.prototype.request = async function (...words) { await free; return request.apply(this, words); };
}`;

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

const focused = () => page.page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);

it("rooms named one after the other, as fast as the keys come, are opened one after the other", async () => {
  await page.signIn("typist");
  const field = page.page.getByLabel("Open a room by its name");
  await field.waitFor();
  const rooms = Array.from({ length: 30 }, (_, i) => `room-${i}`);
  for (const room of rooms) {
    await field.focus();
    await page.page.keyboard.type(room);
    await page.page.keyboard.press("Enter");
    expect(await page.page.evaluate(() => location.hash)).toBe(`#/rooms/${room}`);
  }
  await page.page.getByRole("heading", { name: rooms.at(-1)!, exact: true }).waitFor();
  for (const room of rooms) {
    await page.page.getByRole("link", { name: room, exact: true }).click();
    await page.page.getByRole("heading", { name: room, exact: true }).waitFor();
    expect(await page.composer.inputValue()).toBe("");
  }
});

it("what is typed on after a room's name is said in that room", async () => {
  await page.signIn("on");
  await page.page.getByLabel("Open a room by its name").focus();
  await page.page.keyboard.type("on-and-on\nfirst words\n");
  expect((await page.settled(1)).map((l) => l.text)).toEqual(["first words"]);
  expect((await server.history("on-and-on", "on")).map((m) => m.text)).toEqual(["first words"]);
});

it("a room that opens late leaves the focus where the reader has put it", async () => {
  await (await page.signIn("late")).enter("late");
  await page.page.addInitScript(slowStore);
  await page.page.reload();
  const cut = page.page.getByRole("switch", { name: "Cut network" });
  await cut.focus();
  expect(await page.composer.count()).toBe(0);
  await page.page.evaluate("letGo()");
  await page.composer.waitFor();
  expect(await focused()).toBe("Cut network");
  await page.page.keyboard.press("Space");
  await page.connection("Offline");
  expect(await page.composer.inputValue()).toBe("");
});

it("a room that opens late gets the focus where nothing else has it", async () => {
  await (await page.signIn("idle")).enter("idle");
  await page.page.addInitScript(slowStore);
  await page.page.reload();
  await page.page.getByText("Opening the store").waitFor();
  await page.page.evaluate("letGo()");
  await page.composer.waitFor();
  expect(await focused()).toBe("composer");
});

it("a token that is refused leaves the focus where it was", async () => {
  await page.page.getByText("By a token instead").click();
  const token = page.page.getByLabel("Token");
  await token.fill("a.b.c");
  await token.focus();
  await page.page.evaluate(() => document.querySelector<HTMLFormElement>("details form")!.requestSubmit());
  await page.page.getByRole("alert").filter({ hasText: /./ }).waitFor();
  await page.page.keyboard.type("d");
  expect(await token.inputValue()).toBe("a.b.cd");
});
