/** R24 and its like: what the network loses, the page neither loses nor doubles, and says so. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import type { Frame } from "../harness/relay.ts";
import { Server } from "../harness/server.ts";

let chromium: Chromium;
let server: Server;
let page: Console;

beforeAll(async () => {
  // A room keeps few rows, so that a cursor can age out while a page is away.
  server = await Server.start("--retention-journal-rows", "20", "--retention-every", "1s");
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

const isAnswer = (f: Frame) => f.from === "server" && f.data.type === "ack";
const isRow = (f: Frame) => f.from === "server" && f.data.type === "message";

/** Expects one line of the text, sent, and one row of it in the server's log. */
async function once(room: string, actor: string, text: string, lines: number): Promise<void> {
  const seen = await page.settled(lines);
  expect(seen.filter((l) => l.text === text)).toEqual([expect.objectContaining({ text, state: "sent" })]);
  const stored = await server.history(room, actor);
  expect(stored.filter((m) => m.text === text)).toHaveLength(1);
  expect(seen.map((l) => l.seq)).toEqual(stored.map((m) => m.seq));
}

it("R24: the ack is lost, the row comes live", async () => {
  page.relay.pass = (f) => !isAnswer(f);
  await (await page.signIn("live")).enter("live");
  await page.say("one");
  await once("live", "live", "one", 1);
  expect([...page.relay.sends().values()]).toEqual([1]);
});

it("R24: ack and row are lost, the row comes in a delta", async () => {
  await (await page.signIn("delta")).enter("delta");
  await page.say("before");
  await page.settled(1);
  page.relay.pass = (f) => !isAnswer(f) && !isRow(f);
  await page.say("one");
  await page.relay.until(() => page.relay.of("server", "ack").length >= 2);
  page.relay.cut();
  await page.connection("Offline");
  page.relay.mend();
  await page.online();
  await once("delta", "delta", "one", 2);
  expect(page.relay.of("server", "delta")).toHaveLength(1);
});

it("R24: ack and row are lost, the row comes in a snapshot", async () => {
  await (await page.signIn("snapshot")).enter("snapshot");
  await page.say("before");
  await page.settled(1);
  page.relay.pass = (f) => !isAnswer(f) && !isRow(f);
  for (let i = 0; i < 5; i++) await server.say("snapshot", "eve", `between ${i}`);
  await page.say("one");
  await page.relay.until(() => page.relay.of("server", "ack").length >= 2);
  page.relay.cut();
  await page.connection("Offline");
  for (let i = 0; i < 18; i++) await server.say("snapshot", "eve", `after ${i}`);
  // The cursor's row, the first, ages out with those behind it.
  while ((await server.history("snapshot", "snapshot"))[0]!.seq === 1) await new Promise((r) => setTimeout(r, 100));
  page.relay.mend();
  await page.online();
  await once("snapshot", "snapshot", "one", 20);
  expect(page.relay.of("server", "snapshot")).toHaveLength(2);
});

it("R24: the ack is lost and the row never comes: asked for, it is answered with the first result", async () => {
  await (await page.signInByToken(await server.token("never", "never=w"))).enter("never");
  let lost = 0;
  page.relay.pass = (f) => !(isAnswer(f) && lost++ === 0);
  await page.say("one");
  await page.relay.until(() => lost > 0);
  page.relay.cut();
  await page.connection("Offline");
  page.relay.mend();
  await page.online();
  const seen = await page.settled(1);
  expect(seen).toEqual([{ seq: 1, text: "one", state: "sent" }]);
  expect(await server.history("never", "reader")).toHaveLength(1);
  expect([...page.relay.sends().values()]).toEqual([1]);
  expect(page.relay.of("browser", "status")).toHaveLength(1);
});

it("R15: three reconnects with nothing new bring nothing", async () => {
  await (await page.signIn("again")).enter("again");
  for (const text of ["a", "b", "c"]) await page.say(text);
  const before = await page.settled(3);
  for (let i = 1; i <= 3; i++) {
    page.relay.cut();
    await page.connection("Offline");
    page.relay.mend();
    await page.online();
    await page.relay.until(() => page.relay.of("server", "delta").length >= i);
  }
  expect(page.relay.of("server", "delta").map((f) => f.data.messages)).toEqual([[], [], []]);
  expect(await page.seen()).toEqual(before);
});

it("R16: frames of unknown types move nothing", async () => {
  await (await page.signIn("unknown")).enter("unknown");
  await page.say("a");
  await page.settled(1);
  for (const data of [{ type: "weather", room: "unknown", seq: 99 }, { type: "", head: 7 }, { rooms: [] }])
    page.relay.tell(data);
  await server.say("unknown", "eve", "b");
  page.relay.tell({ type: "message2", room: "unknown", seq: 3, messageId: "x", text: "c" });
  await page.settled(2);
  page.relay.cut();
  await page.connection("Offline");
  page.relay.mend();
  await page.online();
  await page.relay.until(() => page.relay.of("server", "delta").length >= 1);
  const last = page.relay.of("browser", "subscribe").at(-1)!.data;
  expect(last.cursor).toMatchObject({ after: 2 });
  expect((await page.settled(2)).map((l) => l.text)).toEqual(["a", "b"]);
});

it("acks lost by the page's own switch: every message still is one line, sent", async () => {
  await (await page.signIn("switch")).enter("switch");
  await page.page.getByRole("switch", { name: "Lose acks" }).click();
  for (const text of ["a", "b", "c"]) await page.say(text);
  await page.settled(3);
  await page.page.getByText("3 lost").waitFor();
  expect((await server.history("switch", "switch")).map((m) => m.text)).toEqual(["a", "b", "c"]);
});
