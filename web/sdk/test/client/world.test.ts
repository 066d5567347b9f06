/**
 * Random worlds: clients that are killed, clocks that jump, a network that breaks and loses acks, a server that refuses for now.
 * Whatever happens, each message is stored once, a room's messages of one client in the order in which they were sent, and a
 * view ends without a hole.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import { type Client, open } from "../../src/client/client.ts";
import { MemoryMedium, openMemoryStore } from "../../src/store/memory.ts";
import { Server } from "../support/server.ts";
import { settle, Virtual } from "../support/virtual.ts";

const runs = Number(process.env.FC_RUNS ?? 40);

const rooms = ["tea", "milk"] as const;

type Act =
  | { readonly do: "say"; readonly who: number; readonly room: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "kill" | "close"; readonly who: number }
  | { readonly do: "wall"; readonly who: number; readonly ms: number }
  | { readonly do: "restart" | "calm" | "storm" };

const who = fc.integer({ min: 0, max: 1 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("say" as const), who, room: who }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 20_000 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("kill" as const, "close" as const), who }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("wall" as const),
      who,
      ms: fc.integer({ min: -86_400_000, max: 86_400_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("restart" as const, "calm" as const, "storm" as const) }) },
);

/** A client with its store, which outlives it. */
class Actor {
  readonly name: string;
  medium = new MemoryMedium();
  moved = { wall: 0, mono: 0 };
  client: Client | undefined;
  /** What send took in, by room. */
  readonly sent = new Map<string, string[]>();
  readonly #world: World;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
  }

  async open(): Promise<Client> {
    if (this.client) return this.client;
    const { time, server, random } = this.#world;
    this.client = await open({
      ...{ url: "ws://world", token: this.name, transport: server.transport, clock: time.clock(this.moved) },
      store: await openMemoryStore({ medium: this.medium }),
      session: { rand: random, maxAttempts: 10_000 },
      channel: () => undefined,
      poll: 60_000,
    });
    for (const room of rooms) this.client.subscribe(room);
    return this.client;
  }

  async say(room: string): Promise<void> {
    const c = await this.open();
    const id = c.nextMessageId();
    const mine = this.sent.get(room) ?? [];
    this.sent.set(room, mine);
    const text = `${this.name} ${mine.length + 1}`;
    await this.#world.time.wait(c.send(room, id, { text }), 60_000);
    mine.push(text);
  }

  /** Ends it as kill -9 would, or by its own close. */
  async end(kill: boolean): Promise<void> {
    const copy = kill ? await this.medium.copy() : this.medium;
    if (this.client) await this.#world.time.wait(this.client.close(), 1000);
    this.client = undefined;
    this.medium = copy;
  }
}

class World {
  readonly time = new Virtual();
  readonly random: () => number;
  readonly server: Server;
  readonly actors: readonly Actor[];

  constructor(seed: number) {
    let n = seed;
    this.random = () => {
      n = (Math.imul(n, 1_664_525) + 1_013_904_223) >>> 0;
      return n / 2 ** 32;
    };
    this.server = new Server(this.random, this.time);
    this.actors = [new Actor("ann", this), new Actor("bob", this)];
  }

  async do(a: Act): Promise<void> {
    const actor = "who" in a ? (this.actors[a.who] as Actor) : undefined;
    switch (a.do) {
      case "say":
        return actor?.say(rooms[a.room as 0 | 1]);
      case "pass":
        return this.time.pass(a.ms);
      case "kill":
      case "close":
        return actor?.end(a.do === "kill");
      case "wall":
        if (actor) actor.moved.wall += a.ms;
        return;
      case "restart":
        return this.server.restart();
      case "calm":
        this.server.chances = { cut: 0, lose: 0, refuse: 0, unreachable: 0 };
        return;
      case "storm":
        this.server.chances = { cut: 0.05, lose: 0.3, refuse: 0.2, unreachable: 0.3 };
    }
  }

  /** Lets it end well, and holds what there is against what was promised. */
  async judge(): Promise<void> {
    await this.do({ do: "calm" });
    for (const a of this.actors) await a.open();
    await this.time.pass(2 * 3600_000); // more than any delay, also after a clock that was set back
    await settle();
    for (const a of this.actors) {
      const left: unknown[] = [];
      for await (const r of (a.client as Client).outbox()) left.push(r);
      expect(left).toEqual([]);
    }
    for (const room of rooms) {
      const rows = this.server.rooms.get(room)?.rows ?? [];
      const texts = rows.map((m) => m.text);
      for (const a of this.actors) {
        expect(texts.filter((t) => t.startsWith(a.name))).toEqual(a.sent.get(room) ?? []);
        const view = await (a.client as Client).view(room, 0, 10_000);
        expect(view.map((m) => m.seq)).toEqual(rows.map((m) => m.seq).slice(-view.length));
        expect(view.map((m) => m.text)).toEqual(texts.slice(-view.length));
        const feed = await (a.client as Client).messages(room, 0, 10_000);
        expect(feed.map((m) => m.text)).toEqual(texts.slice(-feed.length));
        expect(feed.length).toBe(view.length);
        expect(view.length).toBe(rows.length);
      }
    }
    for (const a of this.actors) await a.end(false);
  }
}

test(
  "each message once, in order, in a view without a hole",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2 ** 31 }),
        fc.array(act, { minLength: 5, maxLength: 40 }),
        async (seed, acts) => {
          const world = new World(seed);
          for (const a of world.actors) await a.open();
          await world.do({ do: "storm" });
          for (const a of acts) await world.do(a);
          await world.judge();
        },
      ),
      { numRuns: runs },
    );
  },
  runs * 5000,
);
