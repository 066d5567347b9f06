/** A real Chromium, headless, with a fresh profile that is removed with it. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core";

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
  /** The browser's program. */
  readonly program = executablePath;
  readonly #profile: string;
  /** What pages said on their console, and errors that nobody caught. */
  readonly said: string[] = [];

  readonly #process: ChildProcess | undefined;
  readonly #sessions = new Map<Page, CDPSession>();

  private constructor(context: BrowserContext, profile: string, process?: ChildProcess) {
    this.context = context;
    this.#profile = profile;
    this.#process = process;
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

  /**
   * Starts a browser in which a tab is hidden while another is in front, as for people. Playwright otherwise has every tab
   * believe that it is in front, and the browser freezes hidden ones only.
   */
  static async startNatural(): Promise<Chromium> {
    const profile = await mkdtemp(join(tmpdir(), "hapax-chromium-"));
    const words = [...flags, "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"];
    const p = spawn(executablePath, words, { stdio: ["ignore", "ignore", "pipe"] });
    process.once("exit", () => p.kill("SIGKILL"));
    const address = await new Promise<string>((resolve, reject) => {
      p.once("exit", (code) => reject(new Error(`chromium ended with ${code}`)));
      createInterface(p.stderr!).on("line", (line) => {
        const found = /^DevTools listening on (ws:.*)$/.exec(line);
        if (found) resolve(found[1]!);
      });
    });
    const browser = await chromium.connectOverCDP(address, { noDefaults: true });
    return new Chromium(browser.contexts()[0]!, profile, p);
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

  async close(): Promise<void> {
    if (this.#process) {
      const over = once(this.#process, "exit");
      this.#process.kill("SIGKILL");
      await over;
    } else {
      await this.context.close();
    }
    await rm(this.#profile, { recursive: true, force: true });
  }
}
