/** The console in a tab, as a person uses it: by what is seen and said, never by the page's own variables. */

import type { Page } from "playwright-core";
import { type Chromium, patience } from "./chromium.ts";
import { Relay } from "./relay.ts";
import type { Server } from "./server.ts";

/** A message as it is seen in the room. */
export interface Seen {
  /** In the margin; 0 while it waits. */
  readonly seq: number;
  readonly text: string;
  /** The word beside an own message, "" beside others. */
  readonly state: string;
}

export class Console {
  readonly page: Page;
  readonly relay: Relay;

  private constructor(page: Page, relay: Relay) {
    this.page = page;
    this.relay = relay;
    page.setDefaultTimeout(patience);
  }

  /** Opens the page behind a wire of its own, and so with a storage of its own. `before` gets the tab before the page does. */
  static async open(
    chromium: Chromium,
    server: Server,
    before?: (page: Page, url: string) => Promise<unknown>,
  ): Promise<Console> {
    const relay = new Relay(() => server.address);
    await relay.listen();
    const page = await chromium.context.newPage();
    await before?.(page, relay.url);
    await page.goto(await server.link(relay.url));
    return new Console(page, relay);
  }

  /** Another tab on the same wire and storage. */
  async tab(chromium: Chromium): Promise<Console> {
    return this.at(chromium, this.page.url());
  }

  /** Another tab, at an address of its own. */
  async at(chromium: Chromium, url: string): Promise<Console> {
    return new Console(await chromium.open(url), this.relay);
  }

  async signIn(name: string): Promise<this> {
    await this.page.getByLabel("Your name").fill(name);
    await this.page.keyboard.press("Enter");
    await this.page.getByRole("navigation", { name: "Panels" }).waitFor();
    return this;
  }

  async signInByToken(token: string): Promise<this> {
    await this.page.getByText("By a token instead").click();
    await this.page.getByLabel("Token").fill(token);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.page.getByRole("navigation", { name: "Panels" }).waitFor();
    return this;
  }

  /** Opens a room by its name, and waits until its first look is done. */
  async enter(room: string): Promise<this> {
    await this.page.getByLabel("Open a room by its name").fill(room);
    await this.page.keyboard.press("Enter");
    await this.page.getByRole("heading", { name: room, exact: true }).waitFor();
    return this;
  }

  async panel(name: "Rooms" | "Outbox" | "Gateway" | "Server"): Promise<void> {
    await this.page.getByRole("navigation", { name: "Panels" }).getByRole("link", { name }).click();
  }

  /** Waits for the connection's state. */
  async connection(word: string): Promise<void> {
    await this.page.locator(".connection b", { hasText: word }).waitFor();
  }

  /** Writes and sends; done once the composer has let go of the text. */
  async say(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press("Enter");
    await this.page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>("#composer")?.value === "");
  }

  get composer() {
    return this.page.locator("#composer");
  }

  /** Ends waits for the next try until the page is online. */
  async online(): Promise<void> {
    await this.page.waitForFunction(
      () => {
        if (document.querySelector(".connection.online")) return true;
        document.querySelector<HTMLButtonElement>(".connection button")?.click();
        return false;
      },
      undefined,
      { polling: 200 },
    );
  }

  /** What is drawn of the open room, from above. */
  seen(): Promise<Seen[]> {
    return this.page.locator(".line").evaluateAll((lines) =>
      lines.map((l) => ({
        seq: Number(l.getAttribute("data-seq") ?? 0),
        text: l.querySelector(".text")?.textContent ?? "",
        state: l.querySelector(".state b")?.textContent ?? l.querySelector(".state")?.textContent?.trim() ?? "",
      })),
    );
  }

  /** Waits until as many lines wait to be sent. */
  async waiting(count: number): Promise<void> {
    await this.page.waitForFunction((count) => document.querySelectorAll(".waiting").length === count, count);
  }

  /** Waits until as many lines are seen and each own one is sent, and returns them. */
  async settled(count: number): Promise<Seen[]> {
    await this.page.waitForFunction((count) => {
      const lines = [...document.querySelectorAll(".line")];
      return lines.length === count && lines.every((l) => !l.classList.contains("waiting"));
    }, count);
    return this.seen();
  }

  /** Scrolls up until the room's beginning is seen, and returns every seq that was seen on the way. */
  async scrolledThrough(): Promise<number[]> {
    return this.page.evaluate(async () => {
      const box = document.querySelector(".stream")!;
      const seen = new Set<number>();
      const note = () => {
        for (const l of box.querySelectorAll("[data-seq]")) seen.add(Number(l.getAttribute("data-seq")));
      };
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      // Lines far from what is seen are a space until they come near.
      const blank = () => {
        const { top, bottom } = box.getBoundingClientRect();
        return [...box.querySelectorAll(".block")].some((b) => {
          const at = b.getBoundingClientRect();
          return b.childElementCount === 0 && at.bottom > top && at.top < bottom;
        });
      };
      const begins = () => box.scrollTop === 0 && box.querySelector(".between")?.textContent === "The beginning.";
      for (let still = 0; still < 2; still = begins() ? still + 1 : 0) {
        note();
        box.scrollTop -= box.clientHeight;
        do {
          await frame();
          await frame();
        } while (blank());
        note();
      }
      return [...seen].sort((a, b) => a - b);
    });
  }

  async close(): Promise<void> {
    await this.page.close().catch(() => undefined); // with its browser it ends all the same
    await this.relay.close();
  }
}
