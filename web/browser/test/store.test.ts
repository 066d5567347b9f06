/** The IndexedDB store in a real Chromium, by its own IndexedDB, Web Locks, BroadcastChannel and WebCrypto. */

/// <reference path="../pages/conformance.ts" />
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cases } from "../../sdk/test/store/suite/index.ts";
import { bundle, pageOf } from "../harness/bundle.ts";
import { Chromium } from "../harness/chromium.ts";
import { Relay } from "../harness/relay.ts";

let chromium: Chromium;
let relay: Relay;
let page: Page;

beforeAll(async () => {
  relay = new Relay(() => "127.0.0.1:1"); // no server: the pages are the relay's own
  await relay.listen();
  relay.serve("/conformance", "text/html", pageOf("/conformance.js"));
  relay.serve("/conformance.js", "text/javascript", await bundle("conformance"));
  chromium = await Chromium.start();
  page = await chromium.open(`${relay.url}/conformance`);
});

afterAll(async () => {
  await chromium?.close();
  await relay?.close();
});

describe.each(["plain", "sealed"] as const)("IndexedDB in Chromium, %s", (how) => {
  it.each(cases.map(([name], i) => [name, i] as const))("%s", async (name, i) => {
    await page.waitForFunction(() => window.conformance);
    expect(await page.evaluate((i) => window.conformance.names[i], i)).toBe(name);
    await page.evaluate(([i, how]) => window.conformance.run(i, how), [i, how] as const);
  });
});
