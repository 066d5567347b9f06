/** The Web Locks of one origin, in memory: exclusive locks, ifAvailable, steal and signals, as the standard says. */

interface Request {
  readonly name: string;
  readonly run: (lock: { name: string } | null) => unknown;
  readonly resolve: (v: unknown) => void;
  readonly reject: (e: unknown) => void;
}

export class FakeLocks {
  readonly #held = new Map<string, Request>();
  #queue: Request[] = [];
  /** How often a lock was stolen. */
  steals = 0;

  /** The locks as one tab sees them; `kill` ends that tab, as a crash does. */
  tab(): { readonly locks: Pick<LockManager, "request">; kill(): void } {
    const mine = new Set<Request>();
    let dead = false;
    const request = (name: string, options: LockOptions, run: Request["run"]) =>
      new Promise<unknown>((resolve, reject) => {
        if (dead) return;
        const r: Request = { name, run, resolve, reject };
        mine.add(r);
        this.#request(r, options);
      });
    const kill = () => {
      dead = true;
      this.#queue = this.#queue.filter((r) => !mine.has(r));
      for (const [name, r] of this.#held) if (mine.has(r)) this.#let(name, r);
    };
    return { locks: { request } as Pick<LockManager, "request">, kill };
  }

  #request(r: Request, options: LockOptions): void {
    const holder = this.#held.get(r.name);
    if (options.steal && holder) {
      this.steals++;
      this.#held.delete(r.name);
      holder.reject(new DOMException("stolen", "AbortError"));
    } else if (holder || this.#queue.some((q) => q.name === r.name)) {
      if (options.ifAvailable) {
        Promise.resolve(r.run(null)).then(r.resolve, r.reject);
        return;
      }
      this.#queue.push(r);
      options.signal?.addEventListener("abort", () => {
        if (!this.#queue.includes(r)) return;
        this.#queue = this.#queue.filter((q) => q !== r);
        r.reject(new DOMException("aborted", "AbortError"));
      });
      return;
    }
    this.#grant(r);
  }

  #grant(r: Request): void {
    this.#held.set(r.name, r);
    // The callback runs in a task of its own.
    queueMicrotask(async () => {
      try {
        r.resolve(await r.run({ name: r.name }));
      } catch (e) {
        r.reject(e);
      }
      if (this.#held.get(r.name) === r) this.#let(r.name, r);
    });
  }

  #let(name: string, r: Request): void {
    if (this.#held.get(name) !== r) return;
    this.#held.delete(name);
    const next = this.#queue.find((q) => q.name === name);
    if (!next) return;
    this.#queue = this.#queue.filter((q) => q !== next);
    this.#grant(next);
  }
}
