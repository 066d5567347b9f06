/** A real Chromium, headless, with a fresh profile that is removed with it. */

import type { ChildProcess } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core";
import { atEnd, end, remove, start, stop } from "./tidy.ts";

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

/** How long a page may take to show what a test waits for, ms: far more than it needs beside two busy loops. */
export const patience = 120_000;

/** Where Debian's package `chromium` puts it; `make browser` installs that where it is missing. */
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export class Chromium {
  readonly context: BrowserContext;
  /** The browser's program. */
  readonly program = executablePath;
  /** What pages said on their console, and errors that nobody caught. */
  readonly said: string[] = [];

  readonly #sessions = new Map<Page, CDPSession>();

  private constructor(context: BrowserContext) {
    this.context = context;
    context.setDefaultTimeout(patience);
    const hear = (page: Page) => {
      page.on("console", (m) => this.said.push(`${m.type()}: ${m.text()}`));
      page.on("pageerror", (e) => this.said.push(`error: ${e.stack ?? e}`));
    };
    context.on("page", hear);
    for (const page of context.pages()) hear(page);
  }

  /** Starts a browser. more are further command line flags. */
  static async start(...more: string[]): Promise<Chromium> {
    const profile = await newProfile();
    const context = await chromium.launchPersistentContext(profile.folder, {
      executablePath,
      args: [...flags, ...more],
      timeout: patience,
    });
    profile.end = () => context.close();
    return Chromium.#of(context, profile);
  }

  /**
   * Starts a browser in which a tab is hidden while another is in front, as for people. Playwright otherwise has every tab
   * believe that it is in front, and the browser freezes hidden ones only.
   */
  static async startNatural(): Promise<Chromium> {
    const profile = await newProfile();
    const words = [...flags, "--remote-debugging-port=0", `--user-data-dir=${profile.folder}`, "about:blank"];
    const p = start(executablePath, words);
    profile.end = () => stop(p, "SIGKILL");
    const browser = await chromium.connectOverCDP(await debugging(p), { noDefaults: true, timeout: patience });
    return Chromium.#of(browser.contexts()[0]!, profile);
  }

  static #of(context: BrowserContext, profile: Profile): Chromium {
    const c = new Chromium(context);
    atEnd(c, () => end(profile));
    return c;
  }

  /** Opens a tab. */
  async open(url: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(url);
    return page;
  }

  /** Freezes a hidden tab as the browser does to those long in the background, or wakes it. Only in a natural browser. */
  async setFrozen(page: Page, frozen: boolean): Promise<void> {
    const cdp = this.#sessions.get(page) ?? (await this.context.newCDPSession(page));
    this.#sessions.set(page, cdp);
    await cdp.send("Page.setWebLifecycleState", { state: frozen ? "frozen" : "active" });
  }

  /** Kills a tab's renderer, as a crash does: nothing in the page runs any more. */
  async crash(page: Page): Promise<void> {
    const crashed = page.waitForEvent("crash");
    page.goto("chrome://crash").catch(() => undefined);
    await crashed;
  }

  close(): Promise<void> {
    return end(this);
  }
}

/** A folder for a browser, and how the browser in it is ended. */
interface Profile {
  readonly folder: string;
  end(): Promise<unknown>;
}

async function newProfile(): Promise<Profile> {
  const profile: Profile = { folder: await mkdtemp(join(tmpdir(), "hapax-chromium-")), end: async () => undefined };
  atEnd(profile, async () => {
    await profile.end();
    await remove(profile.folder);
  });
  return profile;
}

/** The address at which a browser lets itself be driven. */
function debugging(p: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    p.once("error", reject);
    p.once("exit", (code) => reject(new Error(`chromium ended with ${code}`)));
    createInterface(p.stderr!).on("line", (line) => {
      const found = /^DevTools listening on (ws:.*)$/.exec(line);
      if (found) resolve(found[1]!);
    });
  });
}
