import { ClientError } from "../errors.ts";
import type { ClientEvent } from "../session/event.ts";
import type { Key, Row, Store } from "../store/contract.ts";
import { outboxPage } from "./takeover.ts";

/** Receipt is what the server made of a message. */
export interface Receipt {
  readonly messageId: string;
  readonly seq: number;
  readonly epoch: string;
  /** Server time, ms. */
  readonly at: number;
  /** It had the message already. */
  readonly duplicate: boolean;
}

/** How a row ended. */
export type Outcome = Receipt | ClientError;

/** Whether a row will not be confirmed without the app's word. */
export function isStuck(r: Row): boolean {
  return r.state === "parked" || r.state === "uncertain" || r.reason !== "";
}

/** Says how a row stands that will not be confirmed by itself. */
export function rowError(row: Row): ClientError {
  const code = row.state === "uncertain" ? "uncertain" : "parked";
  return new ClientError(code, `row ${row.id} in room ${row.room} is ${row.state}: ${row.reason}`, { row });
}

/** Says that a row left the outbox without an ack. */
function goneError(): ClientError {
  return new ClientError("gone", "the row was cancelled, discarded or evicted");
}

/** One who waits for a row's end. */
export interface Wait {
  readonly key: Key;
  /** Its row was seen in the outbox. */
  seen: boolean;
  tell(o: Outcome): void;
}

/** One who waits for room in the outbox. */
export interface Space {
  /** Its place in line. */
  readonly number: number;
  /** Settles when a row left the queue, and nobody before it waits. */
  readonly free: Promise<void>;
  /** Ends the waiting. A turn that came already goes to the next. */
  leave(): void;
}

const nameOf = ({ room, id }: Key): string => `${id} ${room}`; // an id has no spaces

/**
 * Waits are the callers that wait for a row's end, or for room in the outbox. However many wait, an event finds those that it
 * concerns by their key, and what no event told of is looked for once for all of them.
 */
export class Waits {
  readonly #store: Store;
  readonly #waits = new Map<string, Set<Wait>>();
  #line: { readonly number: number; readonly turn: () => void }[] = [];
  #numbers = 0;
  #looking: Promise<void> | undefined;
  #again = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Gets in line for room in the outbox, back in its place with the number that it had. */
  space(number = ++this.#numbers): Space {
    let turn = (): void => {};
    const free = new Promise<void>((resolve) => {
      turn = resolve;
    });
    const mine = { number, turn };
    const i = this.#line.findIndex((o) => o.number > number);
    this.#line.splice(i < 0 ? this.#line.length : i, 0, mine);
    const leave = (): void => {
      const at = this.#line.indexOf(mine);
      if (at >= 0) this.#line.splice(at, 1);
      else this.free();
    };
    return { number, free, leave };
  }

  /** Gives the turn to the first in line. It passes it on once it has had its row stored, or gave up. */
  free(): void {
    this.#line.shift()?.turn();
  }

  /** Calls w.tell with the end of its row, once, until the function returned is called. */
  add(w: Wait): () => void {
    const name = nameOf(w.key);
    const all = this.#waits.get(name) ?? new Set();
    this.#waits.set(name, all.add(w));
    return () => {
      if (all.delete(w) && all.size === 0 && this.#waits.get(name) === all) this.#waits.delete(name);
    };
  }

  gone(k: Key): void {
    this.#tell(k, goneError());
  }

  /** Tells the waiting what an event means to them. */
  hear(e: ClientEvent): void {
    if (e.type === "confirmed") this.#tell(e.key, e);
    else if (e.type === "row" && isStuck(e.row)) this.#tell(e.row, rowError(e.row));
    else if (e.type === "evicted") this.gone(e.row);
  }

  #tell(k: Key, o: Outcome): void {
    const name = nameOf(k);
    const all = this.#waits.get(name);
    this.#waits.delete(name);
    for (const w of all ?? []) w.tell(o);
    this.free();
  }

  /** Looks for rows whose end another handle may have brought without a word; one look at a time, for all who wait. */
  look(): void {
    this.#again = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  async #look(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      const waiting = new Map<string, Key>();
      for (const [name, all] of this.#waits) for (const w of all) if (w.seen) waiting.set(name, w.key);
      if (waiting.size === 0) continue;
      try {
        await this.#stillThere(waiting);
        for (const key of waiting.values()) this.#tell(key, await ended(this.#store, key));
      } catch {
        // A store that fails is told of by what needs it; who waits goes on waiting.
      }
    }
  }

  /** Takes out those whose rows are in the outbox, reading no more of it than there is. */
  async #stillThere(waiting: Map<string, Key>): Promise<void> {
    for (let after = 0; waiting.size > 0; ) {
      const page = await this.#store.list(after, outboxPage);
      for (const row of page) if (waiting.delete(nameOf(row)) && isStuck(row)) this.#tell(row, rowError(row));
      if (page.length < outboxPage) return;
      after = (page.at(-1) as Row).position;
    }
  }

  /** Ends all waiting. */
  close(): void {
    for (const all of [...this.#waits.values()]) for (const w of [...all]) w.tell(new ClientError("closed", "closed"));
    this.#waits.clear();
    for (const { turn } of this.#line.splice(0)) turn();
  }
}

/** Finds out what became of a row that is not in the outbox. */
async function ended(store: Store, key: Key): Promise<Outcome> {
  return (await receiptOf(store, key)) ?? goneError();
}

/** The receipt of a row that is not in the outbox. */
export async function receiptOf(store: Store, key: Key): Promise<Receipt | undefined> {
  const r = await store.receipt(key);
  return r && { messageId: r.messageId, seq: r.seq, epoch: r.epoch, at: r.at, duplicate: false };
}
