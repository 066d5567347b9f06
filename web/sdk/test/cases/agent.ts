import type { Options } from "../../src/client/options.ts";
import { zeroId } from "../../src/ids/id.ts";
import {
  type Client,
  ClientError,
  type ClientEvent,
  open,
  type Row,
  ServerError,
  StoreError,
} from "../../src/index.ts";
import type { Message, Store } from "../../src/store/contract.ts";
import type { Value } from "./match.ts";

/** The error that a planted fault gives. */
export class Planted extends Error {
  readonly code = "planted";
}

/** Names an error; "" for none. */
export function kindOf(e: unknown): string {
  if (e === undefined || e === null) return "";
  if (e instanceof ClientError || e instanceof StoreError || e instanceof Planted || e instanceof ServerError)
    return e.code;
  if (e instanceof DOMException && e.name === "TimeoutError") return "time_out";
  return `other: ${e}`;
}

/** What a document would hold of a value. */
export function plain(v: unknown): Value {
  return v === undefined ? null : JSON.parse(JSON.stringify(v));
}

function rowObject({ room, id, state, attempts, interval, reason, firstSentAt, lastAttemptAt }: Row) {
  return { room, id, state, attempts, interval, reason, firstSentAt, lastAttemptAt };
}

function messageObject({ clientMessageId: id, data, room, ...m }: Message) {
  return { ...m, ...(id && { id }) };
}

function capital(o: object | undefined): object {
  return Object.fromEntries(Object.entries(o ?? {}).map(([k, v]) => [k.charAt(0).toUpperCase() + k.slice(1), v]));
}

/** An event as the case files call it. */
function eventObject(e: ClientEvent): object {
  switch (e.type) {
    case "connection":
      return { event: "connection", state: e.state, error: kindOf(e.error), retryIn: e.retryIn };
    case "confirmed":
      return { ...e, event: "confirmed", ...e.key };
    case "row":
      return { event: "row", ...rowObject(e.row), nextIn: e.nextIn };
    case "room":
      return { event: "room", room: e.room, ...e.cursor, replaced: e.replaced };
    case "failed":
      return { event: "failed", error: kindOf(e.error) };
    case "threw":
      return { event: "panicked", value: (e.error as Error).message };
    default:
      return { ...e, event: e.type };
  }
}

/** What a call is given. */
export interface Call {
  readonly method: string;
  readonly room: string;
  readonly id: string;
  readonly text: string;
  readonly data: unknown;
  readonly value: string;
  readonly n: number;
  readonly wall: number;
  readonly mono: number;
  readonly kind: string;
  readonly after: boolean;
}

/** Agent is a client of the SDK that does what case files call. */
export class Agent {
  readonly moved = { wall: 0, mono: 0 };
  readonly events: Value[] = [];
  readonly delivered: Value[] = [];
  /** Told at each event and delivery. */
  onNews = (): void => {};
  #client: Client | undefined;
  #faulty = { method: "", after: false, calls: 0 };
  #token = "";
  #asked = 0;
  readonly #time: () => number;

  constructor(time: () => number) {
    this.#time = time;
  }

  async open(o: Omit<Options, "token">, token: string): Promise<void> {
    if (this.#client) throw new Error("the client is open");
    this.#token = token;
    this.events.length = this.delivered.length = 0;
    this.#faulty = { method: "", after: false, calls: 0 };
    const give = (): string => {
      this.#asked++;
      return this.#token;
    };
    this.#client = await open({ ...o, token: give, store: this.#planted(o.store) });
    this.#client.listen((e) => {
      this.events.push(plain(eventObject(e)));
      this.onNews();
    });
  }

  /** A store some of whose methods fail from a moment on. */
  #planted(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const of = Reflect.get(target, name) as unknown;
        if (typeof of !== "function") return of;
        return (...args: unknown[]) => {
          const f = this.#faulty;
          const fails =
            f.method !== "" && name !== "changed" && name !== "listen" && (f.method === "*" || f.method === name);
          if (!fails) return of.apply(target, args);
          f.calls++;
          const failed = Promise.reject(new Planted("planted"));
          if (!f.after) return failed;
          failed.catch(() => {});
          return (of.apply(target, args) as Promise<unknown>).then(() => failed);
        };
      },
    });
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  async close(): Promise<number> {
    const c = this.#client;
    if (!c) throw new Error("the client isn't open");
    const from = this.#time();
    await c.close();
    this.#client = undefined;
    return this.#time() - from;
  }

  async call(c: Call): Promise<Value> {
    if (c.method === "clock") {
      this.moved.wall += c.wall;
      this.moved.mono += c.mono;
      return null;
    }
    if (c.method === "asked") return this.#asked;
    if (c.method === "events") return this.events.slice(c.n);
    if (c.method === "delivered") return this.delivered.slice(c.n);
    if (c.method === "close") return this.close();
    if (!this.#client) throw new Error("the client isn't open");
    return plain(await this.#do(this.#client, c));
  }

  async #do(k: Client, c: Call): Promise<unknown> {
    const content = { text: c.text, ...(c.data !== undefined && { data: c.data }) };
    switch (c.method) {
      case "next":
        return k.nextMessageId();
      case "say": {
        const id = k.nextMessageId();
        await k.send(c.room, id, content);
        return id;
      }
      case "send":
        return k.send(c.room, c.id === zeroId || /^[0-9a-f]{32}$/.test(c.id) ? c.id : "f".repeat(32), content);
      case "resend":
        return k.resend(c.room, c.id, content);
      case "release":
        return k.release(c.id);
      case "status":
        return k.status(c.room, c.id);
      case "wait":
        return k.waitAck(c.room, c.id);
      case "retry":
        return k.retry(c.room, c.id);
      case "cancel":
        return k.cancel(c.room, c.id);
      case "discard":
        return k.discard(c.room, c.id);
      case "connect":
        return k.connect();
      case "disconnect":
        return k.disconnect();
      case "try_now":
        return k.tryNow(c.room);
      case "subscribe":
        return k.subscribe(c.room);
      case "unsubscribe":
        return k.unsubscribe(c.room);
      case "token":
        this.#token = c.value;
        return k.newToken();
      default:
        return this.#read(k, c);
    }
  }

  async #read(k: Client, c: Call): Promise<unknown> {
    switch (c.method) {
      case "state": {
        const { state, error, retryIn } = k.state;
        return { state, error: kindOf(error), retryIn, drains: k.drains };
      }
      case "counts":
        return capital(await k.counts());
      case "stats":
        return capital(k.stats);
      case "outbox": {
        const rows: unknown[] = [];
        for await (const r of k.outbox()) rows.push(rowObject(r));
        return rows;
      }
      case "messages":
        return (await k.messages(c.room, 0, 10_000)).map(messageObject);
      case "view":
        return (await k.view(c.room, 0, 10_000)).map(messageObject);
      case "room":
        return (await k.room(c.room))?.cursor;
      case "deliver":
        void k.deliver(c.room, 0, (m) => {
          this.delivered.push(m.text);
          this.onNews();
          if (m.text === c.text) throw new Error(`thrown at ${m.text}`);
        });
        return null;
      case "fault":
        this.#faulty = { method: c.kind && c.kind.charAt(0).toLowerCase() + c.kind.slice(1), after: c.after, calls: 0 };
        return null;
      case "faults":
        return this.#faulty.calls;
    }
    throw new Error(`the SDK knows no ${c.method}`);
  }
}
