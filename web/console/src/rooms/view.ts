/**
 * One room as it is shown: its lines, and the reader's own rows that wait.
 *
 * What is true stands in the client's store; events only say when to look. All looks of a frame are one, so that 500
 * messages a second cost sixty updates, and a look that is asked for while one runs follows it.
 */

import type { Client, ClientEvent, Message, Row, Store } from "@hapax/client";
import { signal } from "@preact/signals";
import { gather } from "../core/clock.ts";
import { type Line, Lines, mostLines } from "./lines.ts";

/** A row of the outbox with what it says. */
export interface Waiting {
  readonly row: Row;
  readonly text: string;
  /** Monotonic time of the next try, 0 where none is planned. */
  readonly nextAt: number;
}

/** What a listener hears of lines that are new since the view was filled: what a reader hasn't been told yet. */
export type Heard = (lines: readonly Line[]) => void;

/** Rows read of the store, or of the server, at once. */
const pageRows = 200;
/** Rows of a page of history: they are drawn at once when they come, within a frame or two. */
const historyRows = 75;
/** How far back an own row is looked for that only an ack has told of. */
const tailRows = 100;

export class RoomView {
  readonly room: string;
  readonly lines = new Lines();
  /** By position. */
  readonly waiting = new Map<number, Waiting>();

  /** Rises with each change of lines or waiting. */
  readonly version = signal(0);
  /** The first look is done. */
  readonly filled = signal(false);
  /** "" or why the server doesn't show this room. */
  readonly denied = signal("");
  /** How often the server's history was replaced while this view was open. */
  readonly replacements = signal(0);
  /** The room's first line is among the lines. */
  readonly whole = signal(false);
  readonly loading = signal(false);
  readonly fault = signal("");

  readonly #client: Client;
  readonly #store: Store;
  readonly #heard: Heard;
  readonly #texts = new Map<string, string>();
  readonly #look = gather(() => void this.#run());

  #epoch = "";
  #replaced = -1;
  #position = 0;
  #tail = true;
  #box = true;
  #running = false;
  #again = false;
  #closed = false;
  /** The last look found the store failing: `fault` says why, until one succeeds. */
  #failed = false;
  #following = true;

  constructor(client: Client, store: Store, room: string, heard: Heard) {
    this.#client = client;
    this.#store = store;
    this.room = room;
    this.#heard = heard;
    this.#look();
  }

  /** Ends the view. */
  close(): void {
    this.#closed = true;
  }

  /** The reader stands at the end: lines far above may be dropped. */
  follow(following: boolean): void {
    this.#following = following;
  }

  /** Notes what an own row says, before the store is asked. */
  remember(id: string, text: string): void {
    this.#texts.set(id, text);
  }

  /** Takes a hint of the client. */
  hint(e: ClientEvent): void {
    switch (e.type) {
      case "room":
        if (e.room !== this.room) return;
        this.denied.value = "";
        break;
      case "denied":
        if (e.room === this.room && e.retryIn === 0) this.denied.value = e.reason;
        return;
      case "confirmed":
        if (e.key.room !== this.room) return;
        this.#tail = true;
        this.#box = true;
        break;
      case "row":
        if (e.row.room !== this.room) return;
        if (this.waiting.has(e.row.position)) {
          this.#put(e.row, e.nextIn);
          this.#changed();
          return;
        }
        this.#box = true;
        break;
      case "connection":
        if (!this.#failed) return;
        break; // A store that is opened anew is followed by a connection.
      case "evicted":
        if (e.row.room !== this.room) return;
        this.#box = true;
        break;
      case "missed":
      case "changed":
        this.#tail = true;
        this.#box = true;
        break;
      default:
        return;
    }
    this.#look();
  }

  /** Looks at the outbox again: the reader has just changed it. */
  touch(): void {
    this.#box = true;
    this.#look();
  }

  /** Tries again what `fault` tells of. */
  again(): void {
    this.fault.value = "";
    this.touch();
    void this.older();
  }

  /** Puts a page of history in front: the store's own rows, then the server's. */
  async older(): Promise<void> {
    const first = this.lines.first;
    if (this.loading.value || this.whole.value || first === 0) return;
    this.loading.value = true;
    this.fault.value = "";
    const epoch = this.#epoch;
    try {
      let rows: readonly Shown[] = await this.#client.view(this.room, first, historyRows);
      let more = true;
      // The store has what its cursor has covered since the last snapshot; a hole before it is the server's to fill.
      if (rows.at(-1)?.seq !== first - 1) {
        ({ messages: rows, more } = await this.#client.history(this.room, first, historyRows));
      }
      if (this.#closed || epoch !== this.#epoch || this.lines.first !== first) return;
      this.lines.prepend(dense(rows, first).map(toLine));
      this.whole.value = !more || this.lines.first === 1;
      this.#changed();
    } catch (e) {
      this.fault.value = (e as Error).message;
    } finally {
      this.loading.value = false;
    }
  }

  async #run(): Promise<void> {
    if (this.#closed) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = true;
    try {
      await this.#read();
      if (this.#failed) this.fault.value = "";
      this.#failed = false;
    } catch (e) {
      this.#failed = this.#tail = this.#box = true;
      if (!this.#closed) this.fault.value = (e as Error).message;
    } finally {
      this.#running = false;
      if (this.#again) {
        this.#again = false;
        this.#look();
      }
    }
  }

  async #read(): Promise<void> {
    const heard: Line[] = [];
    const room = await this.#client.room(this.room);
    if (this.#closed) return;
    if (room !== undefined && (room.replaced !== this.#replaced || room.cursor.epoch !== this.#epoch)) {
      await this.#fill(room.cursor.epoch, room.replaced, heard);
    } else {
      if (room !== undefined) await this.#feed(heard);
      await this.#readTail(heard);
    }
    if (this.#box) {
      this.#box = false;
      await this.#rows();
    }
    if (this.#closed) return;
    if (this.#following) this.lines.trim(mostLines);
    if (this.lines.first > 1 && this.lines.count >= mostLines) this.whole.value = false;
    this.filled.value = true;
    this.#changed();
    if (heard.length > 0) this.#heard(heard);
  }

  /** Replaces the view: at the first look, and where a snapshot replaced the store's. */
  async #fill(epoch: string, replaced: number, heard: Line[]): Promise<void> {
    const first = this.#replaced === -1;
    const last = this.lines.last;
    const rows = await this.#client.view(this.room, 0, pageRows);
    if (this.#closed) return;
    const known = new Set(this.lines.blocks.flatMap((b) => b.lines.map((l) => l.messageId)));
    const other = this.#epoch !== epoch;
    this.#epoch = epoch;
    this.#replaced = replaced;
    this.#position = Math.max(replaced, ...rows.map((r) => r.position));
    this.lines.clear();
    // Rows that an ack alone has told of may lie beyond others that are still to come: they are shown all the same.
    const added = this.lines.add(rows.filter((r) => r.epoch === epoch).map(toLine));
    this.whole.value = this.lines.count === 0 || this.lines.first === 1;
    if (first) return;
    if (other) this.replacements.value++;
    heard.push(...added.filter((l) => !known.has(l.messageId) && (other || l.seq > last)));
  }

  async #feed(heard: Line[]): Promise<void> {
    for (;;) {
      const rows = await this.#client.messages(this.room, this.#position, pageRows);
      if (this.#closed || rows.length === 0) return;
      this.#position = rows.at(-1)!.position;
      heard.push(...this.#take(rows));
      if (rows.length < pageRows) return;
    }
  }

  /** Rows that an ack alone has told of: ahead of the cursor, or in a room that the reader may only write to. */
  async #readTail(heard: Line[]): Promise<void> {
    if (!this.#tail) return;
    this.#tail = false;
    let rows = await this.#client.view(this.room, 0, tailRows);
    if (this.#replaced === -1) {
      // Rows that a cursor covers have come since the room was looked for: they fill the view at the next look, and are no news.
      rows = rows.filter((r) => r.position === 0);
      this.#epoch = rows.at(-1)?.epoch ?? "";
    }
    heard.push(...this.#take(rows));
  }

  #take(rows: readonly Message[]): Line[] {
    const floor = this.lines.first;
    // What the view has not loaded yet comes by `older`, a page at a time.
    return this.lines.add(rows.filter((r) => r.epoch === this.#epoch && r.seq > floor).map(toLine));
  }

  /** Reads the room's rows of the outbox. */
  async #rows(): Promise<void> {
    const there = new Set<number>();
    for await (const row of this.#client.outbox()) {
      if (row.room !== this.room) continue;
      there.add(row.position);
      const old = this.waiting.get(row.position);
      if (old?.row.revision === row.revision) continue;
      if (!this.#texts.has(row.id)) this.#texts.set(row.id, await this.#text(row));
      this.#put(row, undefined);
    }
    for (const [position, { row }] of this.waiting) {
      if (there.has(position)) continue;
      this.waiting.delete(position);
      this.#texts.delete(row.id);
    }
  }

  async #text(row: Row): Promise<string> {
    try {
      return (await this.#store.body(row.position)).text;
    } catch {
      return ""; // It has just left, or can't be read, which its reason then says.
    }
  }

  #put(row: Row, nextIn: number | undefined): void {
    // A machine's clock that went back makes no wait longer than it was planned.
    const left = Math.min(row.lastAttemptAt + row.interval - Date.now(), row.interval);
    const wait = nextIn ?? (row.state === "queued" ? left : 0);
    const nextAt = wait > 0 ? performance.now() + wait : 0;
    this.waiting.set(row.position, { row, text: this.#texts.get(row.id) ?? "", nextAt });
  }

  #changed(): void {
    this.version.value++;
  }
}

type Shown = Omit<Line, "clientMessageId" | "data"> & { readonly clientMessageId?: string; readonly data?: string };

function toLine(m: Shown): Line {
  return {
    seq: m.seq,
    messageId: m.messageId,
    actor: m.actor,
    clientMessageId: m.clientMessageId ?? "",
    text: m.text,
    data: m.data ?? "",
    at: m.at,
  };
}

/** The rows that follow one another without a hole up to the one below `before`; all where even that one is missing. */
function dense<T extends { readonly seq: number }>(rows: readonly T[], before: number): readonly T[] {
  let from = rows.length;
  let next = before - 1;
  while (from > 0 && rows[from - 1]!.seq === next) {
    from--;
    next--;
  }
  return from === rows.length ? rows : rows.slice(from);
}
