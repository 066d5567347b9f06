/** Who can't see, can't point, or reads what others mean harm with. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
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
  page = await Console.open(chromium, server, (tab) =>
    tab.addInitScript(() => {
      // What a screen reader is told: everything that is put into a log, as it is put there.
      const heard: string[] = [];
      Object.assign(globalThis, { heard });
      new MutationObserver((changes) => {
        for (const change of changes) {
          if (!(change.target as Element).closest?.('[role="log"]')) continue;
          for (const node of change.addedNodes) heard.push(node.textContent ?? "");
        }
      }).observe(document, { childList: true, subtree: true });
    }),
  );
});
afterEach(async () => {
  await page?.close();
});

const heard = () => page.page.evaluate(() => (globalThis as unknown as { heard: string[] }).heard);

it("each new line is announced once, through lost acks, reconnects and scrolling", async () => {
  for (let i = 0; i < 120; i++) await server.say("log", "eve", `old ${i}`);
  await (await page.signIn("ann")).enter("log");
  await page.page.locator('[data-seq="120"]').waitFor();
  expect(await heard()).toEqual([]);
  page.relay.pass = (f) => !(f.from === "server" && f.data.type === "ack");
  await page.say("mine");
  await server.say("log", "eve", "hers");
  await page.page.locator('[data-seq="122"]').waitFor();
  page.relay.cut();
  await page.connection("Offline");
  await server.say("log", "eve", "while away");
  page.relay.mend();
  await page.online();
  await page.page.locator('[data-seq="123"]').waitFor();
  await page.scrolledThrough();
  await page.enter("other");
  await page.enter("log");
  await page.page.locator('[data-seq="123"]').waitFor();
  await expect.poll(heard).toEqual(["ann: mine", "eve: hers", "eve: while away"]);
});

it("a flood is counted instead of read out", async () => {
  // What the room holds when it is entered is no news: the flood begins once that is seen.
  await server.say("flood", "eve", "before");
  await (await page.signIn("ann")).enter("flood");
  await page.page.locator('[data-seq="1"]').waitFor();
  await Promise.all(Array.from({ length: 60 }, (_, i) => server.say("flood", "eve", `row ${i}`)));
  const told = (s: string) => Number(/^(\d+) new messages in flood$/.exec(s)?.[1] ?? 1);
  await expect.poll(async () => (await heard()).map(told).reduce((a, b) => a + b, 0)).toBe(60);
  expect((await heard()).length).toBeLessThan(60);
});

it.each(["light", "dark"] as const)("axe-core finds nothing to fault in the %s theme, on any panel", async (theme) => {
  const axe = await readFile(createRequire(import.meta.url).resolve("axe-core"), "utf8");
  const faults = async () => {
    // The page's policy forbids code that isn't its own; the debugger's protocol isn't the page.
    await page.page.evaluate(axe);
    const result = await page.page.evaluate(() =>
      (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
    );
    return result.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
  };
  await page.page.emulateMedia({ colorScheme: theme });
  await page.page.getByLabel("Your name").waitFor();
  expect(await faults()).toEqual([]);
  await (await page.signIn("ann")).enter(theme);
  await page.say("sent");
  await server.say(theme, "eve", "x".repeat(2_000), { a: 1 });
  await page.settled(2);
  await page.page.getByRole("switch", { name: "Cut network" }).click();
  await page.connection("Offline");
  await page.say("waits");
  await page.waiting(1);
  expect(await faults()).toEqual([]);
  await page.panel("Outbox");
  await page.page.locator(".excerpt", { hasText: "waits" }).waitFor();
  expect(await faults()).toEqual([]);
  await page.page.getByRole("switch", { name: "Cut network" }).click();
  await page.online();
  await page.panel("Server");
  await page.page.getByText("Commit time").waitFor();
  expect(await faults()).toEqual([]);
  await page.panel("Gateway");
  await page.page.getByRole("heading", { name: "Gateway" }).waitFor();
  expect(await faults()).toEqual([]);
  await page.page.setViewportSize({ width: 380, height: 700 });
  await page.panel("Rooms");
  await page.composer.waitFor();
  expect(await faults()).toEqual([]);
});

it("the keyboard alone signs in, talks, breaks the network, cancels, reads the outbox and leaves", async () => {
  const { keyboard } = page.page;
  const focused = () =>
    page.page.evaluate(() => {
      const e = document.activeElement;
      return (e?.getAttribute("aria-label") ?? e?.id ?? "")
        ? (e?.getAttribute("aria-label") ?? e?.id)
        : (e?.textContent ?? "");
    });
  /** Presses Tab, or Shift+Tab, until what has the focus is called so. */
  const to = async (name: RegExp, key = "Tab") => {
    for (let i = 0; i < 60; i++) {
      if (name.test((await focused()) ?? "")) return;
      await keyboard.press(key);
    }
    throw new Error(`the keyboard doesn't reach ${name}`);
  };
  await page.page.getByLabel("Your name").waitFor();
  await keyboard.type("kim");
  await keyboard.press("Enter");
  await page.page.getByRole("navigation", { name: "Panels" }).waitFor();
  await page.page.getByLabel("Open a room by its name").waitFor();
  await to(/^room-name$/);
  await keyboard.type("keys");
  await keyboard.press("Enter");
  await page.composer.waitFor();
  await to(/^composer$/);
  await keyboard.type("first line");
  await keyboard.press("Shift+Enter");
  await keyboard.type("second line");
  await keyboard.press("Enter");
  expect((await page.settled(1)).map((l) => l.text)).toEqual(["first line\nsecond line"]);
  await to(/^Cut network$/, "Shift+Tab");
  await keyboard.press("Space");
  await page.connection("Offline");
  await to(/^composer$/);
  await keyboard.type("never mind");
  await keyboard.press("Enter");
  await page.waiting(1);
  await to(/^Cancel: never mind$/, "Shift+Tab");
  await keyboard.press("Enter");
  await page.waiting(0);
  await keyboard.type("keep this"); // the focus went back to the composer
  await keyboard.press("Enter");
  await page.waiting(1);
  await to(/^Outbox/, "Shift+Tab");
  await keyboard.press("Enter");
  await page.page.locator(".excerpt", { hasText: "keep this" }).waitFor();
  await to(/^Cut network$/);
  await keyboard.press("Space");
  await to(/^Try now$|^Rooms$/, "Shift+Tab");
  await keyboard.press("Enter");
  await page.page.getByText("the server has everything").or(page.composer).waitFor();
  await page.connection("Online");
  await to(/theme$/);
  await keyboard.press("Enter");
  await to(/^Sign out$/);
  await keyboard.press("Enter");
  await page.page.getByLabel("Your name").waitFor();
  expect((await server.history("keys", "kim")).map((m) => m.text)).toEqual(["first line\nsecond line", "keep this"]);
});

it("hostile text is text", async () => {
  const before = chromium.said.length;
  const hostile = [
    '<img src=x onerror="document.title=1"><script>document.title=2</script>',
    "</div></section><style>*{display:none}</style>&lt;b&gt;&amp;",
    "\u202Egnp.exe\u202C \u2066\u2067\u200F\u061C تجربة \u05D0\u05D1",
    "\u202E".repeat(50),
    "a\u0300".repeat(2_000),
    "👩‍👩‍👧‍👦🏳️‍🌈🇺🇳".repeat(100),
    "x".repeat(16 * 1024),
    "\n".repeat(300),
    "\u0000\u0007\u001b[31mred\u001b[0m\r\u007f",
    "javascript:alert(1) data:text/html,<script>alert(1)</script> {{constructor.constructor('x')()}} #{7*7}",
  ];
  for (const [i, text] of hostile.entries())
    await server.say("hostile", i === 0 ? '"><b onclick=1>\u202Emallory' : "mallory", text, {
      "<i>": text.slice(0, 50),
    });
  await (await page.signIn("victim")).enter("hostile");
  const seen = await page.settled(hostile.length);
  const isControl = (c: string) => c < " " && c !== "\n" && c !== "\t";
  const picture = (c: string) =>
    c === "\u007f" ? "\u2421" : isControl(c) ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : c;
  const shown = (t: string) => t.split("").map(picture).join("");
  for (const [i, text] of hostile.entries()) {
    const whole = seen[i]!.text;
    expect(whole.endsWith("…") ? shown(text).startsWith(whole.slice(0, -1)) : whole === shown(text)).toBe(true);
  }
  // Nothing of it became markup, ran, or moved what stands around it.
  expect(await page.page.locator(".stream :is(img, script, style, b, i)").count()).toBe(0);
  expect(await page.page.title()).toBe("hostile – Hapax");
  const boxes = await page.page.locator(".line").evaluateAll((lines) =>
    lines.map((l) => {
      const [line, text] = [l.getBoundingClientRect(), l.querySelector(".text")!.getBoundingClientRect()];
      return (
        text.left >= line.left &&
        text.right <= line.right + 1 &&
        getComputedStyle(l.querySelector(".seq")!).direction === "ltr"
      );
    }),
  );
  expect(boxes).toEqual(hostile.map(() => true));
  expect(await page.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  // All of a long one can be read, and what is said again from it is the same.
  await page.page.getByRole("button", { name: "Show all 16,384 characters" }).click();
  expect((await page.seen())[6]!.text).toBe(hostile[6]);
  await page.say(hostile[0]!);
  expect((await server.history("hostile", "victim")).at(-1)!.text).toBe(hostile[0]);
  expect(chromium.said.slice(before).filter((s) => s.startsWith("error"))).toEqual([]);
});
