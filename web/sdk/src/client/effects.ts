import { encodeCommand } from "../protocol/encode.ts";
import { utf8Length } from "../protocol/names.ts";
import type { Answer, Effect, OutFrame, StoreEffect, Write } from "../session/effect.ts";
import type { ClientEvent } from "../session/event.ts";
import type { Input, LinkInput, Stored, StoreFailed } from "../session/input.ts";
import { reasonUnreadable } from "../session/rows.ts";
import { type Added, type Body, isStoreError, type Result, type Row } from "../store/contract.ts";
import type { Driver } from "./driver.ts";
import { addAside } from "./follower.ts";
import { type EncodedFrame, Link } from "./link.ts";

/** How many UTF-16 units of bodies just stored are kept for their first frame, so that it needn't read them back. */
const maxCached = 2 ** 20;

/** What reaches out of this process, or asks the app: nothing of it is begun once the client is closed. */
const outside = new Set<Effect["kind"]>(["dial", "write", "askToken", "wake"]);

/** Effects does what a machine says. */
export class Effects {
  readonly #d: Driver;
  /** Of machines: what an earlier one's connections still say is dropped. */
  #gen = 0;
  readonly #links = new Map<number, Link>();
  readonly #bodies = new Map<number, Body>();
  #cached = 0;
  #again: Input[] = [];
  #stopTimer = (): void => {};
  /** The app's token function was called, and has not answered. */
  #calling = false;

  constructor(d: Driver) {
    this.#d = d;
  }

  /** Carries effects out in their order, and returns the store's answer where one is owed. */
  async run(effects: readonly Effect[]): Promise<Stored | StoreFailed | undefined> {
    const res = { added: [] as Added[], results: [] as Result[], evicted: [] as Row[] };
    let storing = false;
    for (const e of effects) {
      if (this.#d.over && outside.has(e.kind)) continue;
      switch (e.kind) {
        case "bind":
        case "add":
        case "apply":
        case "evict":
          storing = true;
          try {
            await this.#store(e, res);
          } catch (error) {
            return { kind: "storeFailed", error, added: res.added };
          }
          break;
        case "write":
          await this.#write(e);
          break;
        default:
          this.#now(e);
      }
    }
    return storing ? { kind: "stored", ...res } : undefined;
  }

  /** Does what needs no waiting. */
  #now(e: Exclude<Effect, StoreEffect | Write>): void {
    switch (e.kind) {
      case "dial":
        return this.#dial(e.conn);
      case "close":
        return this.#links.get(e.conn)?.close();
      case "askToken":
        return this.#askToken();
      case "wake":
        return this.#wake(e.at);
      case "emit":
        return this.tell(e.event);
      case "answer":
        return this.#answer(e);
      case "reread":
        this.#d.behind = true;
    }
  }

  async #store(e: StoreEffect, res: { added: Added[]; results: Result[]; evicted: Row[] }): Promise<void> {
    const { fence, pending, opts } = this.#d;
    switch (e.kind) {
      case "bind":
        return opts.store.bind(e.owner);
      case "add": {
        const entries = e.rows.map(({ ticket, entry }) => ({ ...entry, ...(pending.get(ticket)?.body as Body) }));
        res.added = await opts.store.add(fence, entries);
        res.added.forEach((a, i) => {
          if (a.outcome === "inserted") this.#keep(a.row.position, entries[i] as Body);
        });
        return;
      }
      case "apply":
        res.results = await opts.store.apply(fence, e.changes);
        return;
      case "evict":
        res.evicted = await opts.store.evict(fence, e.now);
    }
  }

  #keep(position: number, { text, data }: Body): void {
    this.#cached += text.length + data.length;
    if (this.#cached > maxCached) {
      this.#bodies.clear();
      this.#cached = text.length + data.length;
    }
    this.#bodies.set(position, { text, data });
  }

  async #body(position: number): Promise<Body> {
    const b = this.#bodies.get(position);
    if (!b) return this.#d.opts.store.body(position);
    this.#bodies.delete(position);
    this.#cached -= b.text.length + b.data.length;
    return b;
  }

  /**
   * Puts bodies into frames and hands them to their connection. A row whose body can't be read, or has become too large for
   * this server, is handed back instead: it would be refused forever.
   */
  async #write({ conn, frames }: Write): Promise<void> {
    const out: EncodedFrame[] = [];
    for (const f of frames) {
      const text = await this.#encode(f);
      if (text !== undefined) out.push({ n: f.n, text });
    }
    this.#links.get(conn)?.send(out);
  }

  async #encode({ command: c, row }: OutFrame): Promise<string | undefined> {
    if (!row || c.type !== "send") return encodeCommand(c);
    const handBack = (reason: string): void => void this.#again.push({ kind: "unreadable", key: row, reason });
    try {
      const { text, data } = await this.#body(row.position);
      const frame = encodeCommand({ ...c, text }, data);
      if (utf8Length(frame) <= (this.#d.m?.limits.frame ?? 0)) return frame;
      handBack("too_large");
    } catch (error) {
      if (isStoreError(error, "no_row")) {
        this.#d.behind = true;
      } else {
        handBack(reasonUnreadable);
        this.tell({ type: "failed", error });
      }
    }
    return undefined;
  }

  /** Inputs for the next step. */
  takeAgain(): Input[] {
    const again = this.#again;
    this.#again = [];
    return again;
  }

  /** Calls with inputs of this machine's connections, not of an earlier one's. */
  #tellIn(gen: number): (i: LinkInput) => void {
    return (i) => {
      if (gen !== this.#gen) return;
      if (i.kind === "lost") this.#links.delete(i.conn);
      this.#d.put(i);
    };
  }

  #dial(n: number): void {
    const { transport, url } = this.#d.opts;
    const tell = this.#tellIn(this.#gen);
    let lost = false;
    const link = new Link(n, transport, url, (i) => {
      lost ||= i.kind === "lost";
      tell(i);
    });
    if (!lost) this.#links.set(n, link);
  }

  /**
   * Asks the app, which may take its time: as long as a call is out there is no second one beside it, and whichever machine there is
   * by then gets its answer.
   */
  #askToken(): void {
    if (this.#calling) return;
    this.#calling = true;
    const done = (i: LinkInput): void => {
      this.#calling = false;
      this.#d.put(i);
    };
    const { token } = this.#d.opts;
    Promise.resolve()
      .then(() => (typeof token === "function" ? token() : token))
      .then(
        (t) => done({ kind: "token", token: typeof t === "string" ? t : "" }),
        (error) => done({ kind: "token", token: "", error: error ?? new Error("the token function failed") }),
      );
  }

  #wake(at: number): void {
    this.#stopTimer();
    this.#stopTimer = () => {};
    if (at === 0) return;
    const { clock } = this.#d.opts;
    this.#stopTimer = clock.after(Math.max(0, at - clock.now().mono), () => this.#d.kick());
  }

  /** Hands an event to those it is of use to. */
  tell(e: ClientEvent): void {
    const d = this.#d;
    if (e.type === "connection") d.state = e;
    d.waits.hear(e);
    if (e.type === "room") d.hub.changed(e.room);
    d.relay?.tell(e);
    d.hub.emit(e);
  }

  /** Gives a send or a question its answer. */
  #answer(a: Answer): void {
    const d = this.#d;
    const s = d.pending.get(a.ticket);
    if (s) {
      if (isStoreError(a.error, "fenced")) {
        void addAside(d, [a.ticket]); // another tab drains the store now: the row is its to send
        return;
      }
      d.pending.delete(a.ticket);
      if (a.added) s.done(a.added);
      else s.failed(a.error);
    }
    if (isStoreError(a.error, "fenced")) return; // the other tab is asked, by what waits here
    d.asks.get(a.ticket)?.done(a);
    d.asks.delete(a.ticket);
  }

  /** Ends all connections, of which nothing is heard any more. */
  hangUp(): void {
    this.#gen++;
    for (const l of this.#links.values()) l.close();
    this.#links.clear();
    this.#d.forgetConnections();
  }

  /** Ends connections and timer. */
  end(): void {
    this.hangUp();
    this.#stopTimer();
  }
}
