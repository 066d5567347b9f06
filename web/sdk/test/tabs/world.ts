/** Tabs of one origin in virtual time: each can be hidden, frozen, hung, killed and closed, as a browser does. */

import { type Client, type ClientEvent, open } from "../../src/index.ts";
import { beatsOf } from "../../src/store/beats.ts";
import type { PageEvent } from "../../src/store/connect.ts";
import { parseHead } from "../../src/store/head.ts";
import { MemoryMedium } from "../../src/store/memory.ts";
import { openTables } from "../../src/store/open.ts";
import type { Medium, Tables } from "../../src/store/tables.ts";
import type { Channel, TabEnv } from "../../src/tabs/env.ts";
import { Leader } from "../../src/tabs/leader.ts";
import { FakeLocks } from "../help/locks.ts";
import { settle, Virtual } from "../support/virtual.ts";
import { StubServer } from "./server.ts";

export class World {
  readonly time = new Virtual();
  readonly medium = new MemoryMedium();
  readonly locks = new FakeLocks();
  readonly server = new StubServer(() => this.time.unix);
  readonly tabs: Tab[] = [];
  /** Whether tabs hear each other. */
  channels = true;
  /** How long a transaction waits for its turn, ms of virtual time. */
  slow = 0;
  /** Whether the browser has Web Locks. */
  readonly withLocks: boolean;
  readonly channelEnds = new Map<string, Set<{ readonly tab: Tab; readonly end: Channel }>>();

  constructor(withLocks = true) {
    this.withLocks = withLocks;
  }

  async open(n: number): Promise<Tab[]> {
    const opened = [];
    for (let i = 0; i < n; i++) {
      const tab = new Tab(this, `tab ${this.tabs.length}`);
      this.tabs.push(tab);
      await tab.open();
      opened.push(tab);
    }
    await settle();
    return opened;
  }

  pass(ms: number): Promise<void> {
    return this.time.pass(ms);
  }

  /** The tab that drains the store, undefined where none does. */
  get leader(): Tab | undefined {
    return this.tabs.find((t) => t.running && t.client.drains);
  }

  /** How often the store was taken over from another tab. */
  get takeOvers(): number {
    return this.tabs.flatMap((t) => t.events).filter((e) => e.type === "drains" && e.here).length - 1;
  }

  /** How often the store was drained. */
  fence(): Promise<number> {
    return this.medium.run("readonly", async (t) => parseHead(await t.get("meta", "head")).fence);
  }

  async close(): Promise<void> {
    const slowest = this.slow;
    this.slow = 0;
    await this.pass(slowest); // what is under way ends: time stands still from here on
    for (const t of this.tabs) {
      if (!t.alive) continue;
      t.thaw();
      await t.close();
    }
  }
}

export class Tab {
  readonly events: ClientEvent[] = [];
  readonly world: World;
  readonly name: string;
  client!: Client;
  alive = true;
  hidden = false;
  readonly #lockTab: ReturnType<FakeLocks["tab"]>;
  #page: (e: PageEvent) => void = () => {};
  /** What is to run once the tab isn't frozen any more; undefined while it runs. */
  #frozen: (() => void)[] | undefined;
  /** Timers come at multiples of this while it is hidden, ms. */
  throttle = 0;
  /** Called at each thing that it does with store, network and channels. */
  onStep: () => void = () => {};
  /** What it did with a channel after having closed it. */
  readonly late: string[] = [];

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.#lockTab = world.locks.tab();
  }

  /** Whether its code runs. */
  get running(): boolean {
    return this.alive && this.#frozen === undefined;
  }

  async open(): Promise<void> {
    const { world } = this;
    const medium = this.#medium();
    const lock = new Leader(this.#env(), "store", beatsOf(medium));
    const report = { created: false, from: 2, to: 2, setAside: 0 };
    const store = await openTables(medium, lock, {}, report);
    // Drains is told before anybody can listen: noted from the store.
    const drain = store.drain.bind(store);
    store.drain = async () => {
      const fence = await drain();
      this.events.push({ type: "drains", here: true });
      return fence;
    };
    this.client = await open({
      url: "ws://server/v1/ws",
      token: "t",
      store,
      clock: { now: world.time.clock().now, after: (ms, f) => this.#after(ms, f) },
      transport: (_, on) => {
        const c = world.server.dial(this.name, {
          opened: () => this.#run(() => on.opened()),
          frame: (text) => {
            this.onStep();
            this.#run(() => on.frame(text));
          },
          closed: (e) => this.#run(() => on.closed(e)),
        });
        return {
          send: (frame) => {
            this.onStep();
            c.send(frame);
          },
          close: () => c.close(),
        };
      },
      channel: (name) => this.#channel(name),
      wakes: () => () => {},
    });
    this.client.listen((e) => {
      if (e.type !== "drains" || !e.here) this.events.push(e);
    });
    this.client.subscribe("r");
  }

  /** Says something, and answers its id once it is stored. */
  async say(text: string): Promise<string> {
    const id = this.client.nextMessageId();
    await this.client.send("r", id, { text });
    return id;
  }

  /** Frozen by the browser: the page is told, then nothing in it runs. */
  freeze(): void {
    this.#page("freeze");
    this.hang();
  }

  /** Nothing in it runs, and nobody is told: an endless loop, a debugger. */
  hang(): void {
    this.#frozen = [];
  }

  thaw(): void {
    const waiting = this.#frozen ?? [];
    this.#frozen = undefined;
    for (const f of waiting) f();
    this.#page("resume");
  }

  /** Killed: nothing in it runs ever again, and the browser frees its locks. */
  kill(): void {
    this.alive = false;
    this.#frozen = [];
    this.#lockTab.kill();
  }

  async close(): Promise<void> {
    this.#page("leave");
    await this.client.close();
    this.alive = false;
  }

  show(): void {
    this.hidden = false;
    this.throttle = 0;
    this.#page("visible");
  }

  hide(throttle: number): void {
    this.hidden = true;
    this.throttle = throttle;
    this.#page("hidden");
  }

  /** Runs f now, when the tab is thawed, or never. */
  #run(f: () => void): void {
    if (this.#frozen) this.#frozen.push(f);
    else f();
  }

  #awake(): Promise<void> {
    return new Promise((resolve) => this.#run(resolve));
  }

  #after(ms: number, f: () => void): () => void {
    const late =
      this.throttle === 0
        ? ms
        : Math.ceil((this.world.time.t + ms) / this.throttle) * this.throttle - this.world.time.t;
    let over = false;
    const stop = this.world.time.after(late, () => this.#run(() => over || f()));
    return () => {
      over = true;
      stop();
    };
  }

  #medium(): Medium {
    const { world } = this;
    const { medium } = world;
    const awake = () => this.#awake();
    const step = () => this.onStep();
    return {
      async run<T>(mode: "readonly" | "readwrite", f: (t: Tables) => Promise<T>) {
        step();
        await awake();
        if (world.slow > 0) await new Promise<void>((resolve) => world.time.after(world.slow, resolve));
        const result = await medium.run(mode, f).then(
          (value) => () => value,
          (e) => () => {
            throw e;
          },
        );
        await awake();
        step();
        return result();
      },
      close() {},
    };
  }

  #env(): TabEnv {
    return {
      indexedDB: undefined,
      IDBKeyRange: undefined,
      locks: this.world.withLocks ? this.#lockTab.locks : undefined,
      channel: (name) => this.#channel(name),
      page: {
        hidden: () => this.hidden,
        listen: (f) => {
          this.#page = f;
          return () => {
            this.#page = () => {};
          };
        },
      },
      mono: () => this.world.time.t,
      after: (ms, f) => this.#after(ms, f),
    };
  }

  #channel(name: string): Channel {
    const all = this.world.channelEnds.get(name) ?? new Set();
    this.world.channelEnds.set(name, all);
    const end: Channel = {
      onmessage: null,
      postMessage: (data) => {
        if (!all.has(entry)) {
          this.late.push(name);
          throw new DOMException("the channel is closed", "InvalidStateError"); // as a browser does
        }
        this.onStep();
        if (!this.world.channels) return;
        for (const o of all) {
          if (o.tab !== this)
            queueMicrotask(() => o.tab.#run(() => o.end.onmessage?.({ data: structuredClone(data) } as never)));
        }
      },
      close: () => void all.delete(entry),
    };
    const entry = { tab: this, end };
    all.add(entry);
    return end;
  }
}
