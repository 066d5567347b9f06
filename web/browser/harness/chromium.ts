/** A real Chromium, headless, with a fresh profile that is removed with it. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where Debian's package `chromium` puts it; `make browser` installs that where it is missing. */
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export class Chromium {
  readonly context: BrowserContext;
  readonly #profile: string;
  /** What pages said on their console, and errors that nobody caught. */
  readonly said: string[] = [];

  private constructor(context: BrowserContext, profile: string) {
    this.context = context;
    this.#profile = profile;
    const hear = (page: Page) => {
      page.on("console", (m) => this.said.push(`${m.type()}: ${m.text()}`));
      page.on("pageerror", (e) => this.said.push(`error: ${e.stack ?? e}`));
    };
    context.on("page", hear);
    for (const page of context.pages()) hear(page);
  }

  /** Starts a browser. more are further command line flags. */
  static async start(...more: string[]): Promise<Chromium> {
    const profile = await mkdtemp(join(tmpdir(), "hapax-chromium-"));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      args: [...flags, ...more],
      handleSIGINT: true,
    });
    return new Chromium(context, profile);
  }

  /** Opens a tab. */
  async open(url: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(url);
    return page;
  }

  /** Freezes a tab as the browser does to those long in the background, or wakes it. */
  async setFrozen(page: Page, frozen: boolean): Promise<void> {
    const cdp = await this.context.newCDPSession(page);
    await cdp.send("Page.setWebLifecycleState", { state: frozen ? "frozen" : "active" });
    await cdp.detach();
  }

  /** Kills a tab's renderer, as a crash does: nothing in the page runs any more. */
  async crash(page: Page): Promise<void> {
    const crashed = page.waitForEvent("crash");
    page.goto("chrome://crash").catch(() => undefined);
    await crashed;
  }

  async close(): Promise<void> {
    await this.context.close();
    await rm(this.#profile, { recursive: true, force: true });
  }
}
