import { defaultLimits } from "../protocol/frames.ts";
import type { Change, Owner, Room, Row } from "../store/contract.ts";
import { type Asked, ask, unask } from "./ask.ts";
import { refuse } from "./broken.ts";
import { answered, storeEffects } from "./change.ts";
import type { Config } from "./config.ts";
import { handleLink, idleLink, type Link } from "./connect.ts";
import { type Doing, nothing } from "./doing.ts";
import type { Effect, Write } from "./effect.ts";
import type { ConnectionState, Stats } from "./event.ts";
import type { Flight } from "./flight.ts";
import type { Input, Now } from "./input.ts";
import { reread, rowGone, rowIs, send, tryNow, unreadable } from "./outbox.ts";
import { pump } from "./pump.ts";
import { isAside, load, type OutRow, type RoomState, roomOf } from "./rows.ts";
import { advance, nextWake, tick } from "./tick.ts";
import { forgot, subscribe, unsubscribe } from "./view.ts";
import { newWindow, unmeasured } from "./window.ts";

/** What a machine starts with: the store's own words, read after its drainer's lock was taken. */
export interface Load {
  readonly owner: Owner | undefined;
  /** All, by rising position. */
  readonly rows: readonly Row[];
  /** Positions of the rows that the drainer before had in flight. */
  readonly inDoubt: readonly number[];
  /** All views held. */
  readonly rooms: readonly Room[];
}

/**
 * Machine is the client's mind: it decides what a client does next. Given what happened (a tick, a frame, a lost connection, a
 * stored row) it says what to do (store this, write that, dial, wake me then). It knows no clock, disk, network, timer or
 * source of randomness: all of them come in as values. It owns no bytes: a row's body never passes through it.
 *
 * `step(now, inputs)` returns effects, to be carried out in their order. Store effects (bind, add, apply, evict) come last
 * in a list: the next step must bring their result as Stored or StoreFailed, and only then does the machine give out what
 * depended on them. So nothing leaves before it is stored, and a crash between any two effects is a case that the next start
 * handles.
 *
 * - An attempt and firstSentAt are stored before the frame leaves.
 * - A row leaves the outbox only by an ack, by its own content arriving with a seq, or by the app's word.
 * - Rows of a room go in order: none is sent while an earlier one waits.
 * - A cursor moves by rows only, in the transaction that stores them.
 * - The same inputs, moments and random numbers give the same effects.
 *
 * Its rules stand beside it, in files named for what they do: pump.ts (which row goes next), answer.ts (the table of
 * docs/spec/client.md, 3), connect.ts (the connection's states), token.ts, view.ts and place.ts (rooms), window.ts (how many).
 */
export class Machine {
  readonly cfg: Config;
  now: Now = { wall: 0, mono: 0 };
  /** Undefined until the first welcome of the store's life. */
  owner: Owner | undefined;
  link: Link = idleLink();

  readonly rooms = new Map<string, RoomState>();
  /** By name, so that every walk over rooms is the same walk. */
  order: RoomState[] = [];
  /** Rows parked or uncertain. */
  aside = 0;
  flights: Flight[] = [];
  refs = 0;
  /** Rooms subscribed for sending on this connection, the one sent to longest ago first. */
  readonly places = new Set<RoomState>();
  window = newWindow();
  /** The room of the last release; the next is the one after it by name, round and round. */
  turn = "";
  /** The time to an ack, and to a pong. */
  readonly acks = unmeasured();
  readonly pongs = unmeasured();
  asks: Asked[] = [];

  /** Greatest wall − mono seen since the clock last went back; undefined before the first step. */
  clock: number | undefined;
  /** mono */
  evictAt = 0;

  doing: Doing = nothing();
  /** What waits for the store. */
  held: Effect[] = [];
  /** The next input must be the store's. */
  pending = false;
  /** Rows of the Add under way. */
  waiting: OutRow[] = [];
  /** Rows of the Apply under way, one for each of its first changes. */
  stepped: OutRow[] = [];
  /** All its changes. */
  applied: readonly Change[] = [];
  /** The store has rows that the machine doesn't know. */
  behind = false;
  /** The failure of the store after which the machine does nothing any more. */
  broken: unknown;
  /** Counts steps. */
  steps = 0;
  readonly counts: Stats = {
    ...{ queued: 0, sending: 0, parked: 0, uncertain: 0, sends: 0, acks: 0, retryable: 0, timedOut: 0 },
    ...{ evicted: 0, drops: 0, gaps: 0, snapshots: 0, garbled: 0, connects: 0, clockBacks: 0 },
  };
  #wake = 0;

  constructor(cfg: Config, { owner, rows, inDoubt, rooms }: Load) {
    this.cfg = cfg;
    this.owner = owner;
    for (const { room, cursor } of rooms) roomOf(this, room).view.cursor = cursor;
    const doubted = new Set(inDoubt);
    for (const r of rows) {
      const w = load(this, r);
      if (doubted.has(r.position) && !isAside(r)) w.asking = "doubt";
    }
  }

  /**
   * Takes in what happened up to now, in its order, and returns what to do, in its order. Called without inputs it sees to
   * what time alone brings. Stored or StoreFailed must come first where the last step returned store effects.
   */
  step(now: Now, inputs: readonly Input[]): Effect[] {
    let done: Effect[] = [];
    let rest = inputs;
    if (this.pending) {
      this.now = now;
      done = answered(this, inputs[0]);
      rest = inputs.slice(1);
    }
    advance(this, now);
    for (const i of rest) {
      handle(this, i);
      pump(this);
    }
    tick(this);
    pump(this);
    return done.concat(this.#finish());
  }

  /** Turns what the step collected into effects. Those that rest on the store are held until it has answered. */
  #finish(): Effect[] {
    const storing = storeEffects(this);
    const { effects: out, frames } = this.doing;
    if (frames.length > 0) out.push({ kind: "write", conn: this.link.conn, frames } satisfies Write);
    this.doing = nothing();
    if (storing.length > 0) {
      this.held = out;
      this.pending = true;
      return storing;
    }
    if (this.behind) {
      // not before: what is read must hold all that was given to the store
      this.behind = false;
      out.push({ kind: "reread" });
    }
    const at = nextWake(this);
    if (at !== this.#wake) out.push({ kind: "wake", at });
    this.#wake = at;
    return out;
  }

  /** What the machine has counted. */
  stats(): Stats {
    const s = { ...this.counts };
    for (const r of this.order) {
      s.queued += r.queue.length;
      s.sending += r.queue.filter((w) => w.flight).length;
      for (const w of r.aside) s[w.row.state as "parked" | "uncertain"]++;
    }
    return s;
  }

  /** The connection's state. */
  get state(): ConnectionState {
    return this.link.state;
  }

  /** What the server of the last welcome takes, the protocol's own limits before one. */
  get limits(): typeof defaultLimits {
    return this.link.limits ?? defaultLimits;
  }

  /** Server time − monotonic time as of the last welcome, undefined before one. */
  get serverOffset(): number | undefined {
    return this.link.serverOffset;
  }
}

function handle(m: Machine, i: Input): void {
  if (m.broken !== undefined) return refuse(m, i);
  switch (i.kind) {
    case "send":
      return send(m, i);
    case "rowIs":
      return rowIs(m, i.row);
    case "rowGone":
      return rowGone(m, i.row);
    case "rows":
      return reread(m, i.rows);
    case "tryNow":
      return tryNow(m, i.room);
    case "unreadable":
      return unreadable(m, i);
    case "subscribe":
      return subscribe(m, i.room, i.limit);
    case "unsubscribe":
      return unsubscribe(m, i.room);
    case "forgot":
      return forgot(m, i.room);
    case "ask":
      return ask(m, i.ticket, i.command);
    case "unask":
      return unask(m, i.ticket);
    case "stored":
    case "storeFailed":
      throw new Error("session: the store's answer to nothing");
    default:
      return handleLink(m, i);
  }
}
