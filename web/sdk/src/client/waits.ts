import { ClientError } from "../errors.ts";
import type { ClientEvent } from "../session/event.ts";
import type { Key, Row } from "../store/contract.ts";

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
export function goneError(): ClientError {
  return new ClientError("gone", "the row was cancelled, discarded or evicted");
}

type Wait = { readonly key: Key; readonly tell: (o: Outcome) => void };

/** Waits are the callers that wait for a row's end, or for room in the outbox. */
export class Waits {
  readonly #waits = new Set<Wait>();
  #freed: (() => void)[] = [];

  /** Settles when a row leaves the queue. */
  space(): Promise<void> {
    return new Promise((resolve) => this.#freed.push(resolve));
  }

  free(): void {
    const all = this.#freed;
    this.#freed = [];
    for (const f of all) f();
  }

  /** Calls tell with the end of a row, once, until the function returned is called. */
  add(key: Key, tell: (o: Outcome) => void): () => void {
    const w = { key, tell };
    this.#waits.add(w);
    return () => void this.#waits.delete(w);
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
    for (const w of this.#waits) {
      if (w.key.room !== k.room || w.key.id !== k.id) continue;
      this.#waits.delete(w);
      w.tell(o);
    }
    this.free();
  }
}
