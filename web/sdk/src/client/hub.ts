import type { Signal } from "../platform.ts";
import type { ClientEvent } from "../session/event.ts";
import type { Store } from "../store/contract.ts";

/** How many events wait for a slow reader of an iterator before they are counted as missed. */
const depth = 1024;

/** Takes back a wish. */
export type Stop = () => void;

/** Hub hands events to listeners, and tells those who wait that the store may hold something new. */
export class Hub {
  readonly #listeners = new Set<(e: ClientEvent) => void>();
  readonly #ends = new Set<() => void>();
  /** Who waits for more of a room, of any for "". */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** How far each room was when another handle's change was looked at last. */
  readonly #places = new Map<string, string>();
  shut = false;

  /** Calls f with each event from now on. f may do anything, and throw: that is told by a Threw event, and costs no other. */
  listen(f: (e: ClientEvent) => void): Stop {
    const own = (e: ClientEvent): void => f(e);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  emit(e: ClientEvent): void {
    for (const f of [...this.#listeners]) {
      try {
        f(e);
      } catch (error) {
        if (e.type !== "threw") this.emit({ type: "threw", error }); // one that always throws must not feed itself
      }
    }
  }

  /** The events from now on, until the signal or the client ends. Leaving the loop ends it too. */
  events(signal?: Signal): AsyncIterableIterator<ClientEvent> {
    const waiting: ClientEvent[] = [];
    let missed = 0;
    let wake = (): void => {};
    let over = this.shut;
    const end = (): void => {
      over = true;
      stop();
      this.#ends.delete(end);
      signal?.removeEventListener("abort", end);
      wake();
    };
    const stop = this.listen((e) => {
      if (waiting.length < depth) waiting.push(e);
      else missed++;
      wake();
    });
    if (!over) this.#ends.add(end);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    const next = async (): Promise<IteratorResult<ClientEvent>> => {
      for (;;) {
        const value = waiting.shift() ?? (missed > 0 ? ({ type: "missed", n: missed } as const) : undefined);
        if (value?.type === "missed") missed = 0;
        if (value) return { done: false, value };
        if (over) return { done: true, value: undefined };
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    const finish = async (): Promise<IteratorResult<ClientEvent>> => {
      end();
      waiting.length = missed = 0;
      return { done: true, value: undefined };
    };
    return {
      next,
      return: finish,
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /** Settles when the store may hold more of a room (of any, for ""), or the hub ends. Take it before reading the store. */
  changes(room: string): Promise<void> {
    if (this.shut) return Promise.resolve();
    return new Promise((resolve) => {
      const all = this.#waiting.get(room);
      if (all) all.push(resolve);
      else this.#waiting.set(room, [resolve]);
    });
  }

  /** Says that the store holds more of a room. */
  changed(room: string): void {
    for (const name of ["", room]) this.#wake(name);
  }

  #wake(room: string): void {
    const all = this.#waiting.get(room);
    this.#waiting.delete(room);
    for (const f of all ?? []) f();
  }

  /** Finds out, by one look however many wait, of which rooms another handle has stored more. */
  async look(store: Store): Promise<void> {
    if (this.#waiting.size === 0) return;
    for (const { room, cursor, replaced } of await store.rooms()) {
      const place = `${cursor.epoch} ${cursor.after} ${replaced}`;
      if (this.#places.get(room) === place) continue;
      this.#places.set(room, place);
      this.changed(room);
    }
  }

  /** Ends all iterators once they have given what waits. */
  close(): void {
    this.shut = true;
    for (const room of [...this.#waiting.keys()]) this.#wake(room);
    for (const end of [...this.#ends]) end();
    this.#listeners.clear();
  }
}
