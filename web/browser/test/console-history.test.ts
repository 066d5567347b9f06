/** Rows that were missed, in pages and in the middle of pages; numbers near their end; another history. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import type { Frame } from "../harness/relay.ts";
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

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

async function many(room: string, from: number, to: number): Promise<void> {
  for (let i = from; i <= to; i += 50) {
    const some = upTo(Math.min(50, to - i + 1));
    await Promise.all(some.map((k) => server.say(room, "eve", `row ${i + k - 1}`)));
  }
}

it("R19: a row that arrives live while pages of missed ones come leaves no hole", async () => {
  await many("pages", 1, 10);
  await (await page.signIn("reader")).enter("pages");
  await page.settled(10);
  page.relay.cut();
  await page.connection("Offline");
  await many("pages", 11, 560);
  let pages = 0;
  page.relay.pass = async (f: Frame) => {
    // While the first page is on its way, and again while the second is, somebody says more.
    if (f.from === "server" && f.data.type === "delta" && ++pages <= 2)
      await server.say("pages", "eve", `live ${pages}`);
    return true;
  };
  page.relay.mend();
  await page.online();
  await page.page.locator('[data-seq="562"]').waitFor();
  expect(await page.scrolledThrough()).toEqual(upTo(562));
  expect(page.relay.of("server", "delta").map((f) => (f.data.messages as unknown[]).length)).toEqual([
    500,
    expect.any(Number),
  ]);
});

it("a room left and entered again in the middle of a delta shows each row once", async () => {
  await many("to", 1, 5);
  await server.say("fro", "eve", "hello");
  await (await page.signIn("walker")).enter("to");
  await page.settled(5);
  page.relay.cut();
  await page.connection("Offline");
  await many("to", 6, 600);
  let hold: () => void = () => {};
  const held = new Promise<void>((release) => {
    hold = release;
  });
  page.relay.pass = async (f: Frame) => {
    if (f.from === "server" && f.data.type === "delta") await held;
    return true;
  };
  page.relay.mend();
  await page.online();
  await page.relay.until(() => page.relay.of("server", "delta").length >= 1);
  await page.enter("fro");
  await page.enter("to");
  await page.enter("fro");
  await page.enter("to");
  hold();
  await page.page.locator('[data-seq="600"]').waitFor();
  expect(await page.scrolledThrough()).toEqual(upTo(600));
  await page.enter("fro");
  expect((await page.settled(1)).map((l) => l.text)).toEqual(["hello"]);
});

it("history is read by scrolling up, to the first message, without a hole", async () => {
  await many("long", 1, 900);
  await (await page.signIn("scroller")).enter("long");
  await page.page.locator('[data-seq="900"]').waitFor();
  expect(await page.scrolledThrough()).toEqual(upTo(900));
  await page.page.getByText("The beginning.").waitFor();
});

it("R22: a seq near 2^53 is exact in frame, store and page", async () => {
  const last = 2 ** 53 - 1;
  const shift = last - 5;
  const shifted = (data: Frame["data"], by: number): unknown => {
    const moved = { ...data } as Record<string, unknown>;
    for (const name of ["seq", "head", "before"])
      if (typeof moved[name] === "number") moved[name] = (moved[name] as number) + by;
    if (moved.cursor)
      moved.cursor = { ...(moved.cursor as object), after: (moved.cursor as { after: number }).after + by };
    if (moved.messages) moved.messages = (moved.messages as Frame["data"][]).map((m) => shifted(m, by));
    return moved;
  };
  page.relay.rewrite = (f) => shifted(f.data, f.from === "server" ? shift : -shift);
  await server.say("edge", "eve", "first");
  await (await page.signIn("edge")).enter("edge");
  for (const text of ["two", "three", "four", "last"]) await page.say(text);
  const seqs = (await page.settled(5)).map((l) => l.seq);
  expect(seqs).toEqual([last - 4, last - 3, last - 2, last - 1, last]);
  expect(await page.page.locator(".seq").allTextContents()).toEqual(seqs.map(String));
  // Read anew from the store, and resumed from the stored cursor.
  await page.page.reload();
  expect((await page.settled(5)).map((l) => l.seq)).toEqual(seqs);
  await page.relay.until(() => page.relay.of("server", "delta").length > 0);
  expect(page.relay.of("browser", "subscribe").at(-1)!.data.cursor).toMatchObject({ after: last });
});

it("another epoch replaces the view, and what was said since is said again", async () => {
  await (await page.signIn("ann")).enter("past");
  for (const text of ["a", "b"]) await page.say(text);
  await page.settled(2);
  await server.stop();
  await page.connection("Offline");
  const putBack = await server.copy();
  await server.start();
  await page.online();
  for (const text of ["c", "d"]) await page.say(text);
  await page.settled(4);
  await server.kill();
  await putBack();
  await page.connection("Offline");
  await page.say("e");
  await server.start();
  await server.say("past", "eve", "new history");
  await page.online();
  await page.page.getByText("The server began a new history").waitFor();
  const seen = await page.settled(4);
  expect(seen.map((l) => l.text)).toEqual(["a", "b", "new history", "e"]);
  expect((await server.history("past", "ann")).map((m) => m.text)).toEqual(["a", "b", "new history", "e"]);
});
