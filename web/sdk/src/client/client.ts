import { ClientError, ServerError } from "../errors.ts";
import type { Content, ServerFrame } from "../protocol/frames.ts";
import { maxSeq } from "../protocol/names.ts";
import type { Question } from "../session/effect.ts";
import type { Message, Room } from "../store/contract.ts";
import { checkId, checkRoom } from "./body.ts";
import type { Waiting } from "./core.ts";
import { deliver, follow, tellTrimmed } from "./feed.ts";
import { type Options, withDefaults } from "./options.ts";
import { Outbox } from "./outbox.ts";
import type { Receipt } from "./waits.ts";

/** A page of a room's history. */
export interface History {
  /** By rising seq. */
  readonly messages: readonly Content[];
  /** There are rows before these. */
  readonly more: boolean;
}

/**
 * Opens a client: it reserves ids, takes over the store if no other tab drains it, and starts to connect unless
 * `Options.offline`. It doesn't wait for the connection.
 *
 * @throws StoreError, with the store closed, where the store fails; ClientError `bad_option`
 */
export async function open(options: Options): Promise<Client> {
  let client: Client | undefined;
  try {
    client = new Client(withDefaults(options));
    await client.begin();
    return client;
  } catch (e) {
    await (client ?? options.store).close().catch(() => {}); // the first failure is the one to tell
    throw e;
  }
}

function checkCount(n: number | undefined, least: number, most: number): void {
  if (n === undefined || (Number.isInteger(n) && n >= least && n <= most)) return;
  throw new ClientError("bad_option", `${n} rows, not ${least} to ${most}`);
}

function serverError(e: ServerFrame): unknown {
  return e.type === "error" ? new ServerError(e) : new ClientError("protocol", "the server broke the protocol");
}

/** Client is an open client. What is true stands in its store; its events are hints. */
export class Client extends Outbox {
  /**
   * Keeps a room's rows coming into the store, now and after each reconnect, until unsubscribe. It doesn't wait. A room that
   * the token doesn't let read is told by a `denied` event.
   *
   * @param options.rows the rows (0 to 200) that a view begins with; the server's own number if left out
   * @throws ClientError `bad_room`, `bad_option`, `closed`
   */
  subscribe(room: string, { rows }: { readonly rows?: number } = {}): void {
    checkRoom(room);
    checkCount(rows, 0, this.limits.snapshotRows);
    this.alive(false);
    this.driver.rooms.set(room, rows);
    this.driver.put({ kind: "subscribe", room, limit: rows });
  }

  /** Ends it. What the store holds of the room stays. */
  unsubscribe(room: string): void {
    const { rooms, relay } = this.driver;
    rooms.delete(room);
    if (!relay?.wanted(rooms).some(([wanted]) => wanted === room)) this.driver.put({ kind: "unsubscribe", room });
  }

  /**
   * Drops a room's rows from the store together with its cursor. A room still subscribed begins anew.
   *
   * @throws ClientError `bad_room`, `closed`
   */
  async forget(room: string): Promise<void> {
    checkRoom(room);
    this.alive();
    await this.opts.store.forget(room);
    this.driver.put({ kind: "forgot", room });
  }

  /**
   * Rows that the store holds of a room (of all, for "") with a position after the given one, rising, at most limit. An app
   * keeps the position of the last row that it has dealt with, and so misses none. Where the store's bound (`Limits.roomRows`) has dropped
   * rows behind that position a `trimmed` event names their seqs, and `history` has them.
   */
  async messages(room: string, after: number, limit: number): Promise<Message[]> {
    const feed = await this.opts.store.feed(room, after, limit);
    tellTrimmed(this.hub, feed, new Map());
    return feed.messages;
  }

  /**
   * The last rows that the store holds of a room with a seq below before (0: the last of all), by rising seq. It has rows
   * that only an ack has told of, too; their position is 0.
   */
  view(room: string, before: number, limit: number): Promise<Message[]> {
    return this.opts.store.view(room, before, limit);
  }

  /** What the store holds of a room as a whole, undefined where nothing. */
  room(room: string): Promise<Room | undefined> {
    return this.opts.store.room(room);
  }

  /** All views held, by name. */
  rooms(): Promise<Room[]> {
    return this.opts.store.rooms();
  }

  /**
   * The rows of a room (of all, for "") with a position after the given one, and then those that come, until the signal or
   * the client ends. It subscribes nothing. Leaving the loop loses nothing: follow again from the last row dealt with.
   */
  follow(room: string, after: number, { signal }: Waiting = {}): AsyncGenerator<Message, void, undefined> {
    return follow(this.opts.store, this.hub, room, after, signal);
  }

  /**
   * follow by callback: f gets each row once, awaited. A row at which f throws is told by a `threw` event, and the next ones
   * still come. It resolves when the signal or the client ends.
   */
  deliver(room: string, after: number, f: (m: Message) => unknown, { signal }: Waiting = {}): Promise<void> {
    return deliver(this.hub, this.follow(room, after, signal ? { signal } : {}), f);
  }

  /**
   * Asks the server what became of a message of this actor. Without a connection it waits for one until the signal ends it.
   *
   * @throws ClientError `not_found`: it knows none of that key; `uncertain`: too long ago to tell; ServerError
   */
  async status(room: string, id: string, waiting: Waiting = {}): Promise<Receipt> {
    checkRoom(room);
    checkId(id);
    const row = await this.row(room, id);
    const sentAt = row?.firstSentAt || undefined;
    const e = await this.#ask({ type: "status", room, clientMessageId: id, sentAt }, waiting);
    if (e.type === "ack") return e;
    const code = e.type === "error" && e.code;
    if (code === "not_found") throw new ClientError("not_found", "the server knows no such message");
    if (code === "outcome_unknown") throw new ClientError("uncertain", "too long ago to tell");
    throw serverError(e);
  }

  /**
   * Asks the server for rows of a room with a seq below before (0: the newest), the last limit (1 to 200) of them, by rising
   * seq. Nothing of it is stored. Without a connection it waits for one until the signal ends it.
   *
   * @throws ClientError `bad_room`, `bad_option`; ServerError
   */
  async history(room: string, before: number, limit: number, waiting: Waiting = {}): Promise<History> {
    checkRoom(room);
    checkCount(limit, 1, this.limits.pageRows);
    const e = await this.#ask({ type: "history", room, before: before || maxSeq, limit }, waiting);
    if (e.type !== "page") throw serverError(e);
    return { messages: e.messages, more: e.more };
  }

  /** Puts a question and waits for its answer. */
  async #ask(command: Question, { signal }: Waiting): Promise<ServerFrame> {
    this.alive();
    signal?.throwIfAborted();
    const d = this.driver;
    const ticket = this.ticket();
    try {
      return await new Promise((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        const done = ({ frame, error }: { frame?: ServerFrame; error?: unknown }) =>
          frame ? resolve(frame) : reject(error);
        d.asks.set(ticket, { command, done });
        d.put({ kind: "ask", ticket, command });
      });
    } finally {
      if (d.asks.delete(ticket)) d.put({ kind: "unask", ticket });
    }
  }
}
