/**
 * The machine alone, under random answers, losses and ticks. Held at each step: nothing leaves before it is stored as an
 * attempt; a room's rows leave in their order; `follows` names the nearest before it in flight; what is in flight is bounded;
 * a row that the server has is gone, and none else.
 */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Send, Status } from "../../src/protocol/frames.ts";
import { defaultConfig } from "../../src/session/config.ts";
import type { Effect } from "../../src/session/effect.ts";
import type { Input } from "../../src/session/input.ts";
import { Machine } from "../../src/session/machine.ts";
import type { Added, Change, Result, Row } from "../../src/store/contract.ts";

type Act =
  | { readonly do: "send"; readonly room: number }
  | { readonly do: "answer"; readonly which: number; readonly how: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "lost" };

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("send" as const), room: fc.integer({ min: 0, max: 2 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      which: fc.nat(100),
      how: fc.integer({ min: 0, max: 9 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 30_000 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: "lost" as const }) },
);

const codes = ["unavailable", "rate_limited", "out_of_order", "not_subscribed", "bad_request", "outcome_unknown"];
const ofStatus = ["unavailable", "rate_limited", "in_progress", "not_found", "not_found", "outcome_unknown"];

/** Small, so that they are reached. */
const bounds = { roomFlights: 3, flights: 5 };

/** A machine with a store and a network of a few lines. */
class World {
  readonly m = new Machine(
    { ...defaultConfig, ...bounds, rand: () => 1 },
    { owner: undefined, rows: [], inDoubt: [], rooms: [] },
  );
  now = 1_000_000;
  conn = 0;
  written = 0;
  readonly rows = new Map<number, Row>();
  /** Sends and questions on this connection that wait for an answer, in the order in which they left. */
  out: (Send | Status)[] = [];
  /** The row that one answered out_of_order followed, by its id. */
  readonly waits = new Map<string, string | undefined>();
  /** Ids that the server acked. */
  readonly acked = new Set<string>();
  #n = 0;
  readonly features: string[];

  constructor(features: string[]) {
    this.features = features;
  }

  step(...inputs: Input[]): void {
    let next = inputs;
    do next = this.#do(this.m.step({ wall: this.now, mono: this.now }, next));
    while (next.length > 0);
    this.#judge();
  }

  #do(effects: readonly Effect[]): Input[] {
    const stored = { kind: "stored" as const, added: [] as Added[], results: [] as Result[], evicted: [] as Row[] };
    let storing = false;
    const then: Input[] = [];
    for (const e of effects) {
      storing ||= ["bind", "add", "apply", "evict"].includes(e.kind);
      if (e.kind === "add") stored.added = e.rows.map(({ entry }) => this.#add(entry as unknown as Row));
      if (e.kind === "apply") stored.results = e.changes.map((c) => this.#apply(c));
      if (e.kind === "askToken") then.push({ kind: "token", token: "t" });
      if (e.kind === "dial") {
        this.conn = e.conn;
        this.out = [];
        this.written = 0;
        then.push({ kind: "connected", conn: e.conn });
      }
      if (e.kind === "close") {
        this.out = []; // what comes now is of an earlier connection
        then.push({ kind: "lost", conn: e.conn, written: this.written });
      }
      if (e.kind === "write") {
        for (const f of e.frames) {
          this.written = f.n;
          if (f.command.type === "hello") then.push(this.#welcome(f.command.ref ?? ""));
          if (f.command.type === "send") this.#left(f.command);
          if (f.command.type === "status") this.out.push(f.command);
          if (f.command.type === "subscribe" && f.command.live !== false) {
            const { room, ref } = f.command;
            const frame = { type: "snapshot", ref, room, epoch: "e", head: 0, headId: "", messages: [] } as const;
            then.push({ kind: "received", conn: this.conn, frame });
          }
        }
        then.push({ kind: "wrote", conn: e.conn, n: this.written });
      }
    }
    return storing ? [stored, ...then] : then;
  }

  #welcome(ref: string): Input {
    const limits = {};
    const frame = {
      type: "welcome",
      ref,
      session: "s",
      actor: "a",
      server: "v",
      epoch: "e",
      serverTime: this.now,
      limits,
    } as const;
    const more = { features: this.features, dedupe: { retentionMs: 10 ** 12 } };
    return { kind: "received", conn: this.conn, frame: { ...frame, ...more } };
  }

  #add(entry: Row): Added {
    const row = { ...entry, position: ++this.#n, revision: 1, size: 1, reason: "", asideAt: 0 };
    this.rows.set(row.position, row);
    return { outcome: "inserted", row };
  }

  #apply(c: Change): Result {
    const none = { confirmed: [], conflicts: [] };
    if (c.kind === "confirm") {
      for (const r of this.rows.values()) if (r.id === c.id) this.rows.delete(r.position);
      return { applied: true, ...none };
    }
    if (c.kind !== "step") return { applied: true, ...none };
    const r = this.rows.get(c.position);
    if (r?.revision !== c.revision) return { applied: false, row: r, ...none };
    const { to: state, attempts, interval, lastAttemptAt, reason, asideAt } = c;
    const firstSentAt = r.firstSentAt || (state === "sending" ? c.firstSentAt : 0);
    const row = {
      ...r,
      state,
      attempts,
      interval,
      lastAttemptAt,
      reason,
      asideAt,
      firstSentAt,
      revision: r.revision + 1,
    };
    this.rows.set(row.position, row);
    return { applied: true, row, ...none };
  }

  rowOf(id: string): Row | undefined {
    return [...this.rows.values()].find((r) => r.id === id);
  }

  /** A frame leaves: it is stored as an attempt, and all before it in its room are in flight or have stepped aside. */
  #left(c: Send): void {
    const row = this.rowOf(c.clientMessageId) as Row;
    expect(row).toMatchObject({ state: "sending", firstSentAt: c.sentAt });
    expect(row.attempts).toBeGreaterThan(0);
    const before = [...this.rows.values()].filter((r) => r.room === c.room && r.position < row.position);
    expect(before.filter((r) => r.state === "queued")).toEqual([]);
    const flying = before.filter((r) => r.state === "sending").sort((a, b) => b.position - a.position);
    expect(c.follows).toBe(flying[0]?.id);
    const ahead = this.waits.get(row.id);
    const waited = this.m.flights.filter((f) => f.row.row.id === ahead && f.row.row.room === row.room);
    expect(waited.length).toBe(0); // what it followed is answered first
    this.waits.delete(row.id);
    this.out.push(c);
  }

  #judge(): void {
    expect(this.m.flights.length).toBeLessThanOrEqual(bounds.flights);
    for (const r of this.m.order) {
      expect(r.flying).toBeLessThanOrEqual(bounds.roomFlights);
      // None flies behind one that waits; what became of one in doubt is being found out, and its place is kept meanwhile.
      const flying = r.queue.filter((w) => w.asking !== "doubt").map((w) => w.flight !== undefined);
      expect(flying.lastIndexOf(true)).toBeLessThan(flying.filter(Boolean).length);
    }
    for (const id of this.acked) expect(this.rowOf(id)).toBeUndefined();
    const known = this.m.order.flatMap((r) => [...r.rows.values()].map((w) => w.stored));
    expect(known.sort((a, b) => a.position - b.position)).toEqual([...this.rows.values()]);
  }

  answer(which: number, how: number): void {
    const c = this.out[which % Math.max(1, this.out.length)];
    if (!c) return;
    this.out = this.out.filter((o) => o !== c);
    const { ref, room, clientMessageId } = c;
    const code = (c.type === "send" ? codes : ofStatus)[how];
    if (code) {
      const heard = this.m.flights.some((f) => f.ref === ref);
      if (heard && code === "out_of_order" && c.type === "send") this.waits.set(clientMessageId, c.follows);
      const frame = { type: "error", ref, room, clientMessageId, code, message: "", retryable: how < 3 } as const;
      return this.step({ kind: "received", conn: this.conn, frame });
    }
    this.acked.add(clientMessageId);
    const at = {
      messageId: `m${clientMessageId}`,
      seq: 1 + this.acked.size,
      epoch: "e",
      at: this.now,
      duplicate: c.type === "status",
    };
    this.step({ kind: "received", conn: this.conn, frame: { type: "ack", ref, room, clientMessageId, ...at } });
  }
}

describe.each([
  ["with subscriptions for sending", ["subscribe.live", "maxBytes"]],
  ["without", []],
])("%s", (_, features) => {
  test("the machine keeps its order and its bounds, whatever is answered", () => holds(features));
});

function holds(features: string[]): void {
  fc.assert(
    fc.property(fc.array(act, { minLength: 20, maxLength: 200 }), (acts) => {
      const w = new World(features);
      let sent = 0;
      w.step({ kind: "connect" });
      for (const a of acts) {
        w.now += 1;
        if (a.do === "send") {
          const key = { room: `room ${a.room}`, id: `id${++sent}` };
          w.step({ kind: "send", ticket: sent, key, fingerprint: "f", size: 1 });
        } else if (a.do === "answer") {
          w.answer(a.which, a.how);
        } else if (a.do === "pass") {
          w.now += a.ms;
          w.step();
        } else {
          w.out = [];
          w.step({ kind: "lost", conn: w.conn, written: w.written, error: new Error("cut") });
        }
      }
      expect(w.rows.size + w.acked.size).toBe(sent); // none vanished, none was made
    }),
  );
}
