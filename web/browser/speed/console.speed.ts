/** The console's speed in a real Chromium: a cold load, ten thousand messages, five hundred a second. */

import { loadavg } from "node:os";
import { type Browser, chromium as playwright } from "playwright-core";
import { afterAll, beforeAll, it } from "vitest";
import { WebSocket } from "ws";
import type { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import { Server } from "../harness/server.ts";
import { traced } from "./trace.ts";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  server = await Server.start();
  browser = await playwright.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

const tell = (what: string, figures: unknown) =>
  console.log(`${what}: ${JSON.stringify(figures)} (load ${loadavg()[0]!.toFixed(1)})`);

const fresh = async () =>
  ({ context: await browser.newContext({ viewport: { width: 1180, height: 760 } }) }) as Chromium;

/** Sends n messages as another actor over one connection, at a rate a second; 0 is as fast as they are answered. */
async function pour(room: string, n: number, rate: number): Promise<void> {
  const token = await server.token("eve");
  const ws = new WebSocket(`ws://${server.address}/v1/ws`, "hapax.v1", { perMessageDeflate: false });
  let done = () => {};
  const answered = new Promise<void>((resolve) => {
    done = resolve;
  });
  let acks = 0;
  ws.on("open", () => ws.send(JSON.stringify({ type: "hello", token })));
  const send = (i: number) =>
    ws.send(
      JSON.stringify({ type: "send", room, clientMessageId: `m${i}`, text: `message ${i}: ${"word ".repeat(i % 20)}` }),
    );
  ws.on("message", (raw) => {
    const { type } = JSON.parse(raw.toString()) as { type: string };
    if (type === "welcome") ws.send(JSON.stringify({ type: "subscribe", room, limit: 0 }));
    else if (type === "ack" && ++acks === n) done();
    else if (type === "snapshot" || type === "delta") {
      const started = performance.now();
      let sent = 0;
      const timer = setInterval(() => {
        const due = rate === 0 ? acks + 200 : ((performance.now() - started) / 1000) * rate;
        while (sent < Math.min(n, due)) send(sent++);
        if (sent === n) clearInterval(timer);
      }, 5);
    }
  });
  await answered;
  ws.close();
}

it("a cold load", async () => {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const page = await Console.open(await fresh(), server, (tab) =>
      tab.addInitScript(() => {
        const seen = new MutationObserver(() => {
          if (!document.querySelector("input")) return;
          seen.disconnect();
          // The frame after the one in which the input was put there: it can be typed into.
          requestAnimationFrame(() => setTimeout(() => Object.assign(globalThis, { interactive: performance.now() })));
        });
        seen.observe(document, { childList: true, subtree: true });
      }),
    );
    const ms = await page.page.waitForFunction(() => (globalThis as { interactive?: number }).interactive);
    times.push(Math.round((await ms.jsonValue())!));
    await page.page.context().close();
    await page.relay.close();
  }
  tell(
    "cold load, ms until the name can be typed",
    times.sort((a, b) => a - b),
  );
});

it("ten thousand messages scroll", async () => {
  await pour("many", 10_000, 0);
  const page = await Console.open(await fresh(), server);
  await (await page.signIn("reader")).enter("many");
  await page.page.locator('[data-seq="10000"]').waitFor();
  let seen: number[] = [];
  const up = await traced(browser, page.page, async () => {
    seen = await page.scrolledThrough();
  });
  tell(`${seen.length} messages read by scrolling up, main thread`, up);
  const nodes = await page.page.evaluate(() => document.querySelectorAll(".line").length);
  const down = await traced(browser, page.page, async () => {
    await page.page.evaluate(async () => {
      const box = document.querySelector(".stream")!;
      for (let top = 0; top < box.scrollHeight - box.clientHeight; top += 900) {
        box.scrollTop = top;
        await new Promise((done) => requestAnimationFrame(done));
      }
    });
  });
  tell("and down again", { ...down, linesDrawn: nodes });
  await page.close();
});

it("five hundred messages a second arrive", async () => {
  const page = await Console.open(await fresh(), server);
  await (await page.signIn("reader")).enter("flood");
  await page.connection("Online");
  const keys: number[] = [];
  let frames = 0;
  const tasks = await traced(browser, page.page, async () => {
    const poured = pour("flood", 5_000, 500);
    const counted = page.page.evaluate(async () => {
      const end = performance.now() + 9_000;
      let n = 0;
      while (performance.now() < end) {
        await new Promise((done) => requestAnimationFrame(done));
        n++;
      }
      return n / 9;
    });
    for (let i = 0; i < 30; i++) {
      const started = performance.now();
      await page.page.keyboard.type("x");
      await page.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
      keys.push(Math.round(performance.now() - started));
      await page.page.waitForTimeout(200);
    }
    await poured;
    frames = Math.round(await counted);
    await page.page.locator('[data-seq="5000"]').waitFor();
  });
  keys.sort((a, b) => a - b);
  tell("500 messages a second for 10 s", {
    ...tasks,
    framesASecond: frames,
    keyToPaintMs: { median: keys[15], worst: keys.at(-1) },
  });
  await page.close();
});
