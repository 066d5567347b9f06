/** The console of a local server opens by its link alone, which leaves no secret in the address. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import { Server } from "../harness/server.ts";

let chromium: Chromium;
let server: Server;
let page: Console;

beforeAll(async () => {
  server = await Server.start();
});
afterAll(async () => {
  await server?.close();
});
beforeEach(async () => {
  chromium = await Chromium.start();
  page = await Console.open(chromium, server);
});
afterEach(async () => {
  await page?.close();
  await chromium?.close();
});

it("the link opens the console, and its secret leaves the address", async () => {
  await page.page.getByLabel("Your name").waitFor();
  expect(page.page.url()).toBe(`${page.relay.url}/`);
  expect(await page.page.evaluate(() => document.cookie)).toBe("");
  await (await page.signIn("ann")).enter("tea");
  const [cookie] = await chromium.context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/v1/" });
  expect(cookie!.name).toBe(`hapax-${new URL(page.relay.url).port}`);
  const other = await page.tab(chromium);
  await other.page.getByRole("navigation", { name: "Panels" }).waitFor();
  await other.page.close();
});

it("without the link the page says how to get it, and a wrong one opens nothing", async () => {
  await page.page.getByLabel("Your name").waitFor();
  await chromium.context.clearCookies();
  await page.page.reload();
  await page.page.getByText("hapax link --data DIR").waitFor();
  expect(await page.page.getByLabel("Your name").count()).toBe(0);
  await page.page.evaluate(() => {
    location.hash = "#s=nonsense";
  });
  await page.page.getByRole("alert").filter({ hasText: "opens nothing any more" }).waitFor();
  expect(page.page.url()).toBe(`${page.relay.url}/`);
  const right = await server.link(page.relay.url);
  await page.page.evaluate((hash) => {
    location.hash = hash;
  }, new URL(right).hash);
  await page.signIn("ann");
});

it("a link that was rotated opens nothing, and the cookie that came of it neither", async () => {
  await page.page.getByLabel("Your name").waitFor();
  await server.rotate();
  await page.page.getByLabel("Your name").fill("ann");
  await page.page.keyboard.press("Enter");
  await page.page.getByRole("alert").filter({ hasText: "hapax link" }).waitFor();
  await page.page.goto(await server.link(page.relay.url));
  await page.signIn("ann");
});
