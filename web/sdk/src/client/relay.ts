/**
 * What the tabs of one store tell each other beside it: followers their wishes and questions, the tab that drains the store its
 * connection's state, its events and the answers. All of it are hints that may be lost: rows and their states are in the store.
 */

import { ClientError, type ClientErrorCode } from "../errors.ts";
import type { Answer, Question } from "../session/effect.ts";
import type { ClientEvent, ConnectionChanged } from "../session/event.ts";
import type { Input } from "../session/input.ts";
import { hex } from "../store/text.ts";
import type { Driver } from "./driver.ts";

/** The way to other tabs; what is posted may be lost. A BroadcastChannel is one. */
export interface Channel {
  postMessage(message: unknown): void;
  onmessage: ((e: never) => void) | null;
  close(): void;
}

/** A BroadcastChannel; undefined where there is none, or none is allowed. */
export function broadcast(name: string): Channel | undefined {
  try {
    const c = new BroadcastChannel(name);
    (c as { unref?: () => void }).unref?.(); // under Node it would keep the process alive
    return c;
  } catch {
    return undefined;
  }
}

/** How often a follower repeats its wishes, and after how long a leader forgets one that doesn't (hidden tabs are slow), ms. */
const repeatEvery = 10_000;
const forgetAfter = 180_000;

type Rooms = readonly (readonly [room: string, limit: number | undefined])[];
type Asks = readonly (readonly [ticket: number, command: Question])[];

type Letter =
  | { readonly kind: "wish"; readonly from: string; readonly rooms: Rooms; readonly asks: Asks }
  | { readonly kind: "bye"; readonly from: string }
  | { readonly kind: "who" }
  | { readonly kind: "do"; readonly input: Input }
  | { readonly kind: "event"; readonly event: ClientEvent }
  | { readonly kind: "answer"; readonly to: string; readonly answer: Answer };

/** Inputs that a follower passes to the tab that drains the store. */
const passed = new Set<Input["kind"]>(["connect", "disconnect", "newToken", "visible", "tryNow"]);

/** An error as it travels between tabs: its code and its words. */
function told(error: unknown): unknown {
  return error instanceof Error
    ? { code: (error as { code?: unknown }).code ?? "failed", message: error.message }
    : undefined;
}

function heard(error: unknown): unknown {
  const e = error as { code: ClientErrorCode; message: string } | undefined;
  return e && new ClientError(e.code, e.message);
}

/** Relay speaks for one client. */
export class Relay {
  readonly #d: Driver;
  /** Undefined once closed: nothing is posted or heard any more. */
  #channel: Channel | undefined;
  readonly #me = hex(crypto.getRandomValues(new Uint8Array(16))); // randomUUID needs a secure context
  /** What other tabs want, and when they said so. */
  readonly #others = new Map<string, { readonly rooms: Rooms; readonly at: number }>();
  /** Questions of other tabs that were put to the machine, by its ticket. */
  readonly #asked = new Map<string, number>();
  readonly #ticket: () => number;
  #stop = (): void => {};

  constructor(d: Driver, channel: Channel, ticket: () => number) {
    this.#d = d;
    this.#channel = channel;
    this.#ticket = ticket;
    channel.onmessage = ({ data }: { readonly data: unknown }) => this.#hear(data as Letter);
    this.ask();
    this.#repeat();
  }

  /** The rooms of this tab and of the others. */
  wanted(own: ReadonlyMap<string, number | undefined>): Rooms {
    const all = new Map(own);
    for (const o of this.#others.values())
      for (const [room, limit] of o.rooms) if (!all.has(room)) all.set(room, limit);
    return [...all];
  }

  /** Passes an input of a follower's app on. */
  pass(i: Input): void {
    if (passed.has(i.kind)) this.#post({ kind: "do", input: i });
    else if (i.kind === "subscribe" || i.kind === "unsubscribe" || i.kind === "ask" || i.kind === "unask") this.#wish();
  }

  /** Tells the other tabs of an event of the machine. */
  tell(e: ClientEvent): void {
    if (!this.#d.m) return;
    if (e.type === "drains") this.#post({ kind: "who" });
    else this.#post({ kind: "event", event: "error" in e ? { ...e, error: told(e.error) } : e });
  }

  /** Asks the tab that drains the store how its connection stands. */
  ask(): void {
    this.#post({ kind: "who" });
  }

  close(): void {
    this.#stop();
    this.#post({ kind: "bye", from: this.#me });
    const channel = this.#channel;
    this.#channel = undefined;
    if (!channel) return;
    channel.onmessage = null;
    channel.close();
  }

  /** Posts what may be lost: a channel that fails must fail nothing else. */
  #post(l: Letter): void {
    try {
      this.#channel?.postMessage(l);
    } catch {
      // Lost, as a hint may be.
    }
  }

  #wish(): void {
    const { rooms, asks } = this.#d;
    const open = [...asks].map(([ticket, { command }]) => [ticket, command] as const);
    this.#post({ kind: "wish", from: this.#me, rooms: [...rooms], asks: open });
  }

  #repeat(): void {
    if (!this.#channel) return;
    this.#stop = this.#d.opts.clock.after(repeatEvery, () => {
      if (!this.#d.m) this.#wish();
      else this.#forget();
      this.#repeat();
    });
  }

  /** Forgets tabs that have been silent for too long. */
  #forget(): void {
    const now = this.#d.opts.clock.now().mono;
    for (const [from, o] of this.#others) if (now - o.at > forgetAfter) this.#left(from);
  }

  #left(from: string): void {
    const gone = this.#others.get(from);
    this.#others.delete(from);
    const still = new Set(this.wanted(this.#d.rooms).map(([room]) => room));
    for (const [room] of gone?.rooms ?? []) if (!still.has(room)) this.#d.put({ kind: "unsubscribe", room });
  }

  #hear(l: Letter): void {
    if (!this.#channel) return;
    const d = this.#d;
    const here = d.m !== undefined;
    switch (l.kind) {
      case "who":
        if (!here) return this.#wish();
        return this.tell(d.state);
      case "wish":
        return here ? this.#wished(l.from, l.rooms, l.asks) : undefined;
      case "bye":
        return here ? this.#left(l.from) : undefined;
      case "do":
        if (here) d.put(l.input);
        return;
      case "event":
        return here ? undefined : this.#happened(l.event);
      case "answer":
        if (l.to !== this.#me) return;
        d.asks.get(l.answer.ticket)?.done({ ...l.answer, error: heard(l.answer.error) });
        d.asks.delete(l.answer.ticket);
    }
  }

  /** Takes in what another tab wants: rooms that are new here, rooms that it wants no longer, questions. */
  #wished(from: string, rooms: Rooms, asks: Asks): void {
    const d = this.#d;
    const had = new Set(this.wanted(d.rooms).map(([room]) => room));
    const before = this.#others.get(from)?.rooms ?? [];
    this.#others.set(from, { rooms, at: d.opts.clock.now().mono });
    for (const [room, limit] of rooms) if (!had.has(room)) d.put({ kind: "subscribe", room, limit });
    const still = new Set(this.wanted(d.rooms).map(([room]) => room));
    for (const [room] of before) if (!still.has(room)) d.put({ kind: "unsubscribe", room });
    for (const [ticket, command] of asks) this.#ask(from, ticket, command);
  }

  #ask(from: string, theirs: number, command: Question): void {
    const key = `${from} ${theirs}`; // both are of this SDK's making, without spaces
    if (this.#asked.has(key)) return;
    const ticket = this.#ticket();
    this.#asked.set(key, ticket);
    const done = (a: Answer): void => {
      this.#asked.delete(key);
      const { frame } = a;
      const error = told(a.error);
      const answer = { kind: "answer", ticket: theirs, ...(frame && { frame }), ...(error !== undefined && { error }) };
      this.#post({ kind: "answer", to: from, answer: answer as Answer });
    };
    this.#d.asks.set(ticket, { command, done });
    this.#d.put({ kind: "ask", ticket, command });
  }

  /** Takes in what happened in the tab that drains the store. */
  #happened(event: ClientEvent): void {
    const e = "error" in event ? { ...event, error: heard(event.error) } : event;
    if (e.type === "connection") this.#d.state = e as ConnectionChanged;
    if (e.type === "room") this.#d.hub.changed(e.room);
    this.#d.waits.hear(e as ClientEvent);
    this.#d.hub.emit(e as ClientEvent);
  }
}
