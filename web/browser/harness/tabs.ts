/** Tabs with clients on one server through one relay, for tests of the SDK without the console. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { TabPage } from "../pages/tab.ts";
import { bundle, pageOf } from "./bundle.ts";
import { Chromium } from "./chromium.ts";
import { Relay } from "./relay.ts";
import { Server } from "./server.ts";

export type { TabPage };

/** The actor of all tabs. */
export const actor = "ann";

export class Tabs {
  readonly server: Server;
  readonly relay: Relay;
  readonly chromium: Chromium;
  /** Signs the actor in. */
  readonly token: string;

  private constructor(server: Server, relay: Relay, chromium: Chromium, token: string) {
    this.server = server;
    this.relay = relay;
    this.chromium = chromium;
    this.token = token;
  }

  static async start(): Promise<Tabs> {
    const server = await Server.start();
    const relay = new Relay(() => server.address);
    await relay.listen();
    relay.serve("/tab", "text/html", pageOf("/tab.js"));
    relay.serve("/tab.js", "text/javascript", await bundle("tab"));
    return new Tabs(server, relay, await Chromium.startNatural(), await server.token(actor));
  }

  /** Opens a tab with a client; answers what opening its store found. */
  async open(): Promise<{ page: Page; lost: boolean; created: boolean }> {
    const page = await this.chromium.open(`${this.relay.url}/tab`);
    return { page, ...(await this.openIn(page)) };
  }

  /** Opens the client of a tab that was loaded anew. */
  async openIn(page: Page): Promise<{ lost: boolean; created: boolean }> {
    await page.waitForFunction(() => window.tab);
    return page.evaluate((token) => window.tab.open(token), this.token);
  }

  /** Which of the tabs drains the store; waits until one does: a leader that hangs is given 90 s where it was hidden. */
  async leader(of: readonly Page[]): Promise<Page> {
    let found: Page | undefined;
    const look = async () => {
      found = await this.#draining(of);
      return found !== undefined;
    };
    await expect.poll(look, { timeout: 200_000 }).toBe(true);
    return found!;
  }

  async #draining(of: readonly Page[]): Promise<Page | undefined> {
    const drains = await Promise.all(of.map((p) => p.evaluate(() => window.tab.drains())));
    return of[drains.indexOf(true)];
  }

  /** How often the store was drained. */
  async fence(page: Page): Promise<number> {
    return page.evaluate(async () => {
      const open = indexedDB.open("hapax");
      await new Promise((resolve) => {
        open.onsuccess = resolve;
      });
      const head = open.result.transaction("meta").objectStore("meta").get("head");
      await new Promise((resolve) => {
        head.onsuccess = resolve;
      });
      open.result.close();
      return head.result.fence;
    });
  }

  async close(): Promise<void> {
    await this.chromium.close();
    await this.relay.close();
    await this.server.close();
  }
}
