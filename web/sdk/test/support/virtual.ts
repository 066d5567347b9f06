import type { Clock } from "../../src/client/clock.ts";

type Timer = { readonly at: number; readonly n: number; readonly f: () => void };

/** Lets all that needs no time be done: the stores of these tests work in microtasks alone. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Virtual is a time that stands still but where a test lets it pass. */
export class Virtual {
  /** ms since the beginning. */
  t = 0;
  #n = 0;
  #timers: Timer[] = [];

  /** Unix time, ms: the beginning is that of 2000. */
  get unix(): number {
    return 946_684_800_000 + this.t;
  }

  after(ms: number, f: () => void): () => void {
    const timer = { at: this.t + Math.max(0, ms), n: this.#n++, f };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((o) => o !== timer);
    };
  }

  /** A clock that began now, whose halves can be moved. */
  clock(moved: { wall: number; mono: number } = { wall: 0, mono: 0 }): Clock {
    const start = this.t;
    return {
      now: () => ({ wall: this.unix + moved.wall, mono: 1 + this.t - start + moved.mono }),
      after: (ms, f) => this.after(ms, f),
    };
  }

  /** The next timer, undefined where none is set. */
  #next(): Timer | undefined {
    return this.#timers.reduce<Timer | undefined>(
      (a, b) => (!a || b.at < a.at || (b.at === a.at && b.n < a.n) ? b : a),
      undefined,
    );
  }

  /** Lets time pass up to the next timer, at most to `end`; false where end is reached. */
  async toNext(end: number): Promise<boolean> {
    const next = this.#next();
    if (!next || next.at > end) {
      this.t = end;
      await settle();
      return false;
    }
    this.t = Math.max(this.t, next.at);
    this.#timers = this.#timers.filter((o) => o !== next);
    next.f();
    await settle();
    return true;
  }

  /** Lets ms pass. */
  async pass(ms: number): Promise<void> {
    await settle();
    const end = this.t + ms;
    while (await this.toNext(end));
  }

  /** Waits for something, letting time pass where it needs it, at most ms. */
  async wait<T>(what: Promise<T>, ms: number): Promise<T> {
    let over = false;
    const done = (): void => {
      over = true;
    };
    what.then(done, done);
    await settle();
    for (const end = this.t + ms; !over && this.t < end; ) await this.toNext(Math.min(end, this.t + 60_000));
    if (!over) throw new Error(`it takes longer than ${ms} ms`);
    return what;
  }
}
