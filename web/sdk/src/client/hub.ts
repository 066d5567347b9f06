import type { ClientEvent } from "../session/event.ts";

/** How many events wait for a slow reader of an iterator before they are counted as missed. */
const depth = 1024;

/** Takes back a wish. */
export type Stop = () => void;

/** Hub hands events to listeners, and tells those who wait that the store may hold something new. */
export class Hub {
  readonly #listeners = new Set<(e: ClientEvent) => void>();
  readonly #ends = new Set<() => void>();
  #changed: (() => void)[] = [];
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
  events(signal?: AbortSignal): AsyncIterableIterator<ClientEvent> {
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

  /** Settles when rooms or outbox may have changed, or the hub ends. Take it before reading the store. */
  changes(): Promise<void> {
    if (this.shut) return Promise.resolve();
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  changed(): void {
    const all = this.#changed;
    this.#changed = [];
    for (const f of all) f();
  }

  /** Ends all iterators once they have given what waits. */
  close(): void {
    this.shut = true;
    this.changed();
    for (const end of [...this.#ends]) end();
    this.#listeners.clear();
  }
}
