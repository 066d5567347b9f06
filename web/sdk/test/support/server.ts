/**
 * A room server in a few lines, by docs/spec/protocol.md: what it stores is what a client's promises are held against. Its
 * network loses connections and acks by chance, and its time is the test's.
 */

import { fingerprint } from "../../src/protocol/canonical.ts";
import type { Listener, Transport } from "../../src/transport/transport.ts";
import { decodeCommand } from "./command.ts";

type Frame = { [name: string]: unknown };
type Stored = { seq: number; messageId: string; actor: string; clientMessageId: string; text: string; at: number };

/** What the world does, each by chance from 0 to 1. */
export interface Chances {
  /** A connection breaks instead of carrying a frame. */
  readonly cut: number;
  /** An ack is lost. */
  readonly lose: number;
  /** A send is refused for now. */
  readonly refuse: number;
  /** A dial fails. */
  readonly unreachable: number;
}

/** Whom a token is of, and until when: a JWT's claims, else the text itself, for good. */
function claimsOf(token: string): { sub: string; exp: number } {
  const [, claims] = token.split(".");
  if (claims === undefined) return { sub: token, exp: Number.POSITIVE_INFINITY };
  const { sub, exp } = JSON.parse(atob(claims)) as { sub: string; exp: number };
  return { sub, exp: exp * 1000 };
}

/** A token of an actor that expires at a Unix time, ms. */
export const tokenOf = (sub: string, expires: number): string =>
  `h.${btoa(JSON.stringify({ sub, exp: expires / 1000 }))}.s`;

const page = 3; // small, so that deltas have more behind them

class Room {
  epoch: string;
  rows: Stored[] = [];
  readonly live = new Set<Connection>();

  constructor(epoch: string) {
    this.epoch = epoch;
  }
}

/** Connection is one at the server's end. */
class Connection {
  readonly on: Listener;
  actor = "";
  over = false;
  /** Unix ms: when its session ends. */
  expires = Number.POSITIVE_INFINITY;
  /** Rooms subscribed, and whether rows come. */
  readonly subscribed = new Map<string, boolean>();

  constructor(on: Listener) {
    this.on = on;
  }
}

/** Server is what the clients of a test talk to. */
export class Server {
  readonly rooms = new Map<string, Room>();
  chances: Chances = { cut: 0, lose: 0, refuse: 0, unreachable: 0 };
  /** Frames sent for each id. */
  readonly sends = new Map<string, number>();
  epoch = "e1";
  /** What it announces in its welcome; without `subscribe.live` it wants no subscription of a sender. */
  features: string[] = ["subscribe.live", "maxBytes"];
  limits: { [name: string]: number } = {};
  /** Commands that came, by their type, and answers of not_subscribed. */
  readonly came = new Map<string, number>();
  /** Connections that were opened. */
  opened = 0;
  /** Every send is answered not_subscribed. */
  forgets = false;
  /** Nothing comes through, and no connection ends. */
  silent = false;
  /** Whether a token is refused. */
  refuses: (token: string) => boolean = () => false;
  /** Called with each command; what it answers is not carried out. */
  tap: (command: Frame) => boolean | undefined = () => undefined;
  #n = 0;
  readonly #connections = new Set<Connection>();
  readonly #random: () => number;
  readonly #time: { readonly unix: number; after(ms: number, f: () => void): () => void };

  constructor(random: () => number, time: { readonly unix: number; after(ms: number, f: () => void): () => void }) {
    this.#random = random;
    this.#time = time;
  }

  #chance(p: number): boolean {
    return this.#random() < p;
  }

  /** Dials it. */
  readonly transport: Transport = (_url, on) => {
    const c = new Connection(on);
    this.#time.after(5, () => {
      if (c.over) return;
      if (this.#chance(this.chances.unreachable)) return this.#end(c);
      this.#connections.add(c);
      this.opened++;
      on.opened();
    });
    return { send: (text) => this.#carry(c, () => this.#command(c, text)), close: () => this.#end(c) };
  };

  /** Ends every connection. */
  restart(epoch = this.epoch): void {
    for (const c of [...this.#connections]) this.#end(c);
    if (epoch === this.epoch) return;
    this.epoch = epoch;
    for (const r of this.rooms.values()) r.epoch = epoch;
  }

  /** Ends every session, whatever its token said; a hello begins another. */
  expireAll(): void {
    for (const c of this.#connections) c.expires = this.#time.unix;
  }

  #end(c: Connection): void {
    if (c.over) return;
    c.over = true;
    this.#connections.delete(c);
    for (const r of this.rooms.values()) r.live.delete(c);
    c.on.closed(new Error("cut"));
  }

  /** Carries something in 5 ms, or breaks the connection. */
  #carry(c: Connection, f: () => void): void {
    if (this.#chance(this.chances.cut)) return this.#end(c);
    this.#time.after(5, () => {
      if (!c.over && !this.silent) f();
    });
  }

  #give(c: Connection, frame: Frame): void {
    if (frame.type === "ack" && this.#chance(this.chances.lose)) return;
    this.#carry(c, () => c.on.frame(JSON.stringify(frame)));
  }

  #room(name: string): Room {
    const r = this.rooms.get(name) ?? new Room(this.epoch);
    this.rooms.set(name, r);
    return r;
  }

  #command(c: Connection, text: string): void {
    const cmd = decodeCommand(text) as Frame & { room: string; ref: string };
    const refuse = (code: string, retryable: boolean): void => {
      const { ref, room, clientMessageId } = cmd;
      this.#give(c, { type: "error", ref, code, message: "", retryable, ...(room && { room }), clientMessageId });
    };
    this.#count(cmd.type as string);
    if (this.tap(cmd)) return;
    if (cmd.type !== "hello" && this.#time.unix >= c.expires) return refuse("session_invalid", false);
    switch (cmd.type) {
      case "hello": {
        const { sub, exp } = claimsOf(cmd.token as string);
        if (this.refuses(cmd.token as string) || this.#time.unix >= exp) return refuse("session_invalid", false);
        c.actor = sub;
        c.expires = exp;
        return this.#give(c, this.#welcome(c, cmd.ref));
      }
      case "ping":
        return this.#give(c, { type: "pong", ref: cmd.ref, serverTime: this.#time.unix });
      case "subscribe":
        return this.#subscribe(c, cmd);
      case "unsubscribe":
        this.#room(cmd.room).live.delete(c);
        c.subscribed.delete(cmd.room);
        return this.#give(c, { type: "unsubscribed", ref: cmd.ref, room: cmd.room });
      case "send":
        return this.#send(c, cmd, refuse);
      case "status": {
        const m = this.#find(c, cmd);
        return m ? this.#ack(c, cmd, m, true) : refuse("not_found", false);
      }
    }
  }

  #welcome(c: Connection, ref: string): Frame {
    return {
      ...{ type: "welcome", ref, session: "s", actor: c.actor, server: "srv", epoch: this.epoch },
      ...{ serverTime: this.#time.unix, limits: this.limits, dedupe: { retentionMs: 30 * 24 * 3600_000 } },
      features: this.features,
    };
  }

  #find(c: Connection, cmd: Frame & { room: string }): Stored | undefined {
    return this.#room(cmd.room).rows.find((m) => m.actor === c.actor && m.clientMessageId === cmd.clientMessageId);
  }

  #ack(c: Connection, { ref, room }: Frame & { room: string }, m: Stored, duplicate: boolean): void {
    const { clientMessageId, messageId, seq, at } = m;
    this.#give(c, { type: "ack", ref, clientMessageId, room, messageId, seq, epoch: this.epoch, at, duplicate });
  }

  #send(c: Connection, cmd: Frame & { room: string }, refuse: (code: string, retryable: boolean) => void): void {
    const id = cmd.clientMessageId as string;
    this.sends.set(id, (this.sends.get(id) ?? 0) + 1);
    if (this.forgets || (this.features.includes("subscribe.live") && !c.subscribed.has(cmd.room))) {
      this.#count("not_subscribed");
      return refuse("not_subscribed", false);
    }
    const r = this.#room(cmd.room);
    const known = this.#find(c, cmd);
    if (known) {
      if (fingerprint(known.text, "") !== fingerprint(cmd.text as string, "")) return refuse("id_conflict", false);
      return this.#ack(c, cmd, known, true);
    }
    if (cmd.follows && !r.rows.some((m) => m.clientMessageId === cmd.follows)) return refuse("out_of_order", true);
    if (this.#chance(this.chances.refuse)) return refuse("unavailable", true);
    const at = this.#time.unix;
    const m = {
      seq: r.rows.length + 1,
      messageId: `m${++this.#n}`,
      actor: c.actor,
      clientMessageId: id,
      text: cmd.text as string,
      at,
    };
    r.rows.push(m);
    this.#ack(c, cmd, m, false);
    for (const to of r.live) this.#give(to, { type: "message", room: cmd.room, epoch: r.epoch, ...this.#copy(to, m) });
  }

  /** A row as a reader gets it. */
  #copy(to: Connection, { clientMessageId, ...m }: Stored): Frame {
    return m.actor === to.actor ? { ...m, clientMessageId } : m;
  }

  #count(what: string): void {
    this.came.set(what, (this.came.get(what) ?? 0) + 1);
  }

  #subscribe(c: Connection, { ref, room, cursor, live, maxBytes }: Frame & { room: string }): void {
    const r = this.#room(room);
    const known = this.features.includes("subscribe.live");
    const places = [...c.subscribed.values()].filter((l) => !l).length;
    if (known && live === false) {
      if (!c.subscribed.has(room) && places >= (this.limits.sendRooms ?? 1000)) {
        return this.#give(c, { type: "error", ref, room, code: "rate_limited", message: "", retryable: true });
      }
      r.live.delete(c);
      c.subscribed.set(room, false);
      return this.#give(c, { type: "subscribed", ref, room, live: false });
    }
    c.subscribed.set(room, true);
    const at = cursor as { epoch: string; after: number; messageId: string } | undefined;
    const head = r.rows.length;
    const answer = { ref, room, epoch: r.epoch, head, headId: r.rows.at(-1)?.messageId ?? "" };
    const fits = at?.epoch === r.epoch && at.after <= head && (r.rows[at.after - 1]?.messageId ?? "") === at.messageId;
    r.live.delete(c);
    if (!at || !fits) {
      r.live.add(c);
      const rows = r.rows.slice(-200).map((m) => this.#copy(c, m));
      while (rows.length > 1 && JSON.stringify(rows).length > ((maxBytes as number) ?? Number.POSITIVE_INFINITY))
        rows.shift();
      return this.#give(c, { type: "snapshot", ...answer, messages: rows });
    }
    const messages = r.rows.slice(at.after, at.after + page).map((m) => this.#copy(c, m));
    const more = at.after + page < head;
    if (!more) r.live.add(c);
    this.#give(c, { type: "delta", ...answer, messages, more });
  }
}
