/**
 * Leader: one writer per origin (docs/spec/client.md, 5). The tab that holds the Web Lock sends; it beats in the store. A
 * tab that asked for the lock in vain waits for it and watches the beats, and follows a leader that gives none: a hung tab keeps its
 * lock. The fence in the store, not the lock, decides what counts: it is raised first, by one of those that found the leader dead,
 * and that one alone steals the lock.
 *
 * A beat is dead when it has been looked at, unchanged, for long enough on the watcher's own clock: no two tabs' clocks are
 * compared, and a clock that is set changes nothing. Time in which the watcher itself slept doesn't count.
 *
 * A visible tab takes the lead from a hidden one, whose timers the browser slows: it says that it is visible, and the hidden
 * tabs stand back for a while, the leader among them.
 *
 * Where there are no Web Locks the beats alone decide: a leader that ends says so in its last beat, and one that dies is
 * followed after the same silence.
 */

import type { Beats } from "../store/beats.ts";
import type { PageEvent } from "../store/connect.ts";
import type { Hint } from "../store/contract.ts";
import { type Beat, sameBeat } from "../store/head.ts";
import type { Lock, Taken } from "../store/lock.ts";
import type { Channel, TabEnv } from "./env.ts";

/** What a visible tab says that wants the lead of a hidden one. */
const visible = "visible";

/** How often the leader beats, and a follower looks, ms. */
export const beatEvery = 5_000;
/** After how much silence a leader counts as dead; and one that said it is hidden, whose timers the browser slows, ms. */
export const deadAfter = 15_000;
export const hiddenDeadAfter = 90_000;
/** For how long hidden tabs stand back after a visible one asked them to: until it has surely taken the lead, or is gone, ms. */
const standBackFor = 2 * beatEvery;
/** A look that comes later than this counts as if it came after this: the watcher itself slept. */
const longestLook = 2 * beatEvery;

export class Leader implements Lock {
  readonly #env: TabEnv;
  readonly #beats: Beats;
  readonly #name: string;
  #channel: Channel | undefined;
  readonly #unlisten: () => void;
  #hear: (hint: Hint) => void = () => {};
  /** Lets the Web Lock go, where it is held. */
  #release: (() => void) | undefined;
  /** This tab asked for the lock and didn't get it: it waits for it from then on, and holds it for its next `take`. */
  #wants = false;
  /** Takes back the request that waits for the Web Lock. */
  #waiting: AbortController | undefined;
  /** The fence under which this tab drains, 0 if it doesn't. */
  #fence = 0;
  #timer = () => {};
  /** The page is frozen or left: no lock is asked for until it comes back. */
  #away = false;
  /** The last beat of the leadership before. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** mono: a visible tab asked for the lead; hidden, this one doesn't before. */
  #backUntil = 0;
  /** What the watcher saw last, when, and for how long it has not changed. */
  #seen: { beat: Beat | undefined; at: number; age: number } | undefined;

  constructor(env: TabEnv, name: string, beats: Beats) {
    this.#env = env;
    this.#beats = beats;
    this.#name = `hapax:${name}`;
    this.#channel = env.channel(this.#name);
    if (this.#channel) this.#channel.onmessage = ({ data }: { readonly data: unknown }) => this.#told(data);
    this.#unlisten = env.page.listen((event) => this.#page(event));
  }

  async take(): Promise<Taken | undefined> {
    if (this.#closed || this.#fence !== 0) return undefined;
    const taken = this.#away || this.#standsBack() ? undefined : await this.#take();
    this.#wants = !taken;
    this.#watch();
    return taken;
  }

  async #take(): Promise<Taken | undefined> {
    if (this.#release) return { judged: false };
    if (this.#env.locks) {
      await this.#request({ ifAvailable: true });
      if (this.#release) return { judged: false }; // by this request, or by the one that waited
    }
    const dead = await this.#look();
    const beat = this.#seen?.beat;
    if (!this.#env.locks) return dead || !beat || beat.free ? { judged: true, after: beat } : undefined;
    return dead ? { judged: true, after: beat, steal: () => this.#steal() } : undefined;
  }

  hold(fence: number): boolean {
    if (this.#away || this.#closed || (this.#env.locks && !this.#release)) return false;
    this.#fence = fence;
    this.#wants = false;
    this.#waiting?.abort();
    if (this.#env.page.hidden()) this.#beat();
    else this.#beatLater();
    return true;
  }

  free(): void {
    const fence = this.#fence;
    this.#fence = 0;
    this.#seen = undefined;
    this.#timer();
    // The last beat is begun before the lock goes, so that it is there when another looks.
    if (fence !== 0) this.#last = this.#beats.write(fence, false, true).then(() => this.#post("free"), ignore);
    this.#wants = false;
    this.#unlock();
  }

  announce(): void {
    this.#post("changed");
  }

  listen(f: (hint: Hint) => void): void {
    this.#hear = f;
  }

  /** The connection to the store is gone: nothing can be drained or watched any more. */
  gone(): void {
    this.#hear("lost");
    this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.free();
    this.#timer();
    this.#unlisten();
    this.#last.then(() => {
      this.#channel?.close();
      this.#channel = undefined;
    });
  }

  /** Posts what may be lost: a channel that fails must keep no lock from being let go. */
  #post(hint: Hint | typeof visible): void {
    try {
      this.#channel?.postMessage(hint);
    } catch {
      // Lost, as a hint may be.
    }
  }

  async #steal(): Promise<boolean> {
    return this.#release !== undefined || (await this.#request({ steal: true })) || this.#release !== undefined;
  }

  #unlock(): void {
    this.#waiting?.abort();
    this.#waiting = undefined;
    this.#release?.();
    this.#release = undefined;
  }

  /** Asks for the Web Lock; answers once it is granted or can't be had. */
  #request(options: LockOptions): Promise<boolean> {
    return new Promise((granted) => {
      let mine: (() => void) | undefined;
      const hold = (lock: unknown) => {
        if (!lock || this.#closed || this.#away || this.#release) return granted(false);
        return new Promise<void>((release) => {
          mine = release;
          this.#release = release;
          granted(true);
        });
      };
      this.#env.locks!.request(this.#name, options, hold).catch(() => {
        granted(false);
        if (mine && mine === this.#release) this.#robbed();
      });
    });
  }

  /** Another tab took the lock. */
  #robbed(): void {
    this.#release = undefined;
    this.#lose();
  }

  #lose(): void {
    if (this.#fence === 0) return;
    this.#hear("lost"); // the handle answers by free
    if (this.#fence !== 0) this.free();
  }

  #told(message: unknown): void {
    if (this.#closed) return;
    if (message === "changed") this.#hear("changed");
    if (message === "free" && this.#fence === 0 && !this.#away && !this.#standsBack()) this.#hear("free");
    if (message === visible && this.#env.page.hidden() && !this.#away) this.#standBack();
  }

  /** Lets go of the lead, and of the place in line for it. */
  #standBack(): void {
    this.#backUntil = this.#env.mono() + standBackFor;
    this.#lose();
    this.#unlock();
  }

  #standsBack(): boolean {
    return this.#env.page.hidden() && this.#env.mono() < this.#backUntil;
  }

  #page(event: PageEvent): void {
    if (event === "freeze" || event === "leave") {
      this.#away = true;
      this.#lose();
      this.#timer();
      this.#unlock();
    } else if (event === "resume" && this.#away) {
      this.#away = false;
      this.#hear("free");
    } else if (this.#fence !== 0) {
      this.#beat();
    }
  }

  #beatLater(): void {
    this.#timer();
    this.#timer = this.#env.after(beatEvery, () => this.#beat());
  }

  #beat(): void {
    this.#beatLater();
    const fence = this.#fence;
    this.#beats.write(fence, this.#env.page.hidden(), false).then((newest) => {
      if (!newest && fence === this.#fence) this.#lose();
    }, ignore); // a store that fails is told of by what needs it; without beats another tab takes over
  }

  /** Waits for the Web Lock and looks at the beats, until this tab drains. */
  #watch(): void {
    this.#timer();
    if (this.#closed || this.#away || this.#fence !== 0 || !this.#wants) return;
    if (this.#env.locks && !this.#waiting && !this.#release && !this.#standsBack()) {
      const waiting = new AbortController();
      this.#waiting = waiting;
      this.#request({ signal: waiting.signal }).then((granted) => {
        if (this.#waiting === waiting) this.#waiting = undefined;
        if (granted && this.#fence === 0) this.#hear("free");
      });
    }
    this.#timer = this.#env.after(beatEvery, async () => {
      const dead = await this.#look().catch(() => false);
      if (this.#fence !== 0 || this.#closed || this.#away || !this.#wants) return;
      if (dead || (!this.#env.locks && this.#seen?.beat?.free)) this.#hear("free");
      if (this.#fence === 0) this.#watch();
    });
  }

  /** Looks at the beat, and answers whether its leader counts as dead. A hidden one is asked for the lead by a visible tab. */
  async #look(): Promise<boolean> {
    const beat = await this.#beats.read();
    const at = this.#env.mono();
    const before = this.#seen;
    const same = before && sameBeat(before.beat, beat);
    const age = same ? before.age + Math.min(at - before.at, longestLook) : 0;
    this.#seen = { beat, at, age };
    if (beat?.hidden && !beat.free && !this.#env.page.hidden()) this.#post(visible);
    return age >= (beat?.hidden ? hiddenDeadAfter : deadAfter);
  }
}

const ignore = () => {};
