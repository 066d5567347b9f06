/** Handle: what a store's methods stand on: transactions, the fence, hints, the end. */

import { type Hint, isStoreError, type Limits, type Report } from "./contract.ts";
import { StoreError } from "./errors.ts";
import type { Lock } from "./lock.ts";
import type { Sealer } from "./seal.ts";
import type { Medium } from "./tables.ts";
import { type Opened, Sealed, Transaction } from "./transaction.ts";

/** What opening a medium found, and what a handle is made of. */
export interface Parts {
  readonly medium: Medium;
  readonly lock: Lock;
  readonly limits: Limits;
  readonly sealer: Sealer;
  readonly keyCheck: Uint8Array | undefined;
  readonly device: Uint8Array;
  readonly report: Report;
  /** Changes of the medium before this handle. */
  readonly changes: number;
}

/** How many opened fingerprints a handle keeps: twice a full outbox. */
const maxOpened = 20_000;

export class Handle {
  readonly device: Uint8Array;
  readonly report: Report;
  protected readonly limits: Limits;
  protected readonly sealer: Sealer;
  protected readonly lock: Lock;
  readonly #medium: Medium;
  readonly #keyCheck: Uint8Array | undefined;
  readonly #opened: Opened = new Map();
  readonly #listeners = new Set<(hint: Hint) => void>();
  #closed = false;
  /** The fence under which this handle drains, 0 if it doesn't. */
  #fence = 0;
  /** Changes of the medium that this handle made. */
  #own = 0;
  /** Changes by others that `changed` has told of. */
  #seen: number;

  constructor(p: Parts) {
    this.device = p.device;
    this.report = p.report;
    this.limits = p.limits;
    this.sealer = p.sealer;
    this.lock = p.lock;
    this.#medium = p.medium;
    this.#keyCheck = p.keyCheck;
    this.#seen = p.changes;
    p.lock.listen((hint) => (hint === "lost" ? this.#lose() : this.#tell(hint)));
  }

  protected read<T>(f: (t: Transaction) => Promise<T>): Promise<T> {
    return this.#run("readonly", f);
  }

  protected write<T>(f: (t: Transaction) => Promise<T>): Promise<T> {
    return this.#run("readwrite", f);
  }

  /** Runs f in a transaction; again where it met a sealed fingerprint, which was then opened. */
  async #run<T>(mode: "readonly" | "readwrite", f: (t: Transaction) => Promise<T>): Promise<T> {
    if (this.#opened.size > maxOpened) this.#opened.clear();
    for (;;) {
      if (this.#closed) throw new StoreError("closed", "the handle is closed");
      let dirty = false;
      let done = (): void => {};
      try {
        const result = await this.#medium.run(mode, async (tables) => {
          const t = await Transaction.begin(tables, this.#opened, this.#keyCheck);
          const r = await f(t);
          t.end();
          dirty = t.dirty;
          done = t.onDone;
          return r;
        });
        done();
        if (dirty) {
          this.#own++;
          this.lock.announce();
        }
        return result;
      } catch (e) {
        if (!(e instanceof Sealed)) throw e;
        await Promise.all(
          e.rows.map(async (r) => {
            const plain = await this.sealer.openFingerprint(r, r.fingerprint).catch(() => undefined);
            this.#opened.set(String(r.fingerprint), plain);
          }),
        );
      }
    }
  }

  /** A drainer's change: only under its fence, and only while that is the newest. */
  protected async drained<T>(fence: number, f: (t: Transaction) => Promise<T>): Promise<T> {
    try {
      return await this.write((t) => {
        if (fence === 0 || fence !== this.#fence || fence !== t.head.fence) {
          throw new StoreError("fenced", "this handle no longer drains it");
        }
        return f(t);
      });
    } catch (e) {
      if (isStoreError(e, "fenced") && fence !== 0 && fence === this.#fence) this.#lose();
      throw e;
    }
  }

  /** Has a medium that waits to be opened anew be tried at once. */
  protected tryNow(): void {
    this.#medium.tryNow?.();
  }

  protected get draining(): boolean {
    return this.#fence !== 0;
  }

  /** The handle drains from now on, unless it lost the lock meanwhile. */
  protected begin(fence: number): void {
    if (!this.lock.hold(fence)) throw new StoreError("draining", "another handle took the lock");
    this.#fence = fence;
  }

  /** Stops to drain, and returns the fence that it had. */
  protected stop(): number {
    const fence = this.#fence;
    this.#fence = 0;
    return fence;
  }

  /** Another handle has raised the fence or taken the lock, or this page must let go. */
  #lose(): void {
    if (this.stop() === 0) return;
    this.lock.free();
    this.#tell("lost");
  }

  #tell(hint: Hint): void {
    for (const f of this.#listeners) f(hint);
  }

  listen(f: (hint: Hint) => void): () => void {
    this.#listeners.add(f);
    return () => void this.#listeners.delete(f);
  }

  /** How many changes other handles have made. */
  protected changesByOthers(t: Transaction): number {
    return t.head.changes - this.#own;
  }

  changed(): Promise<boolean> {
    return this.read(async (t) => {
      const others = t.head.changes - this.#own;
      const changed = others !== this.#seen;
      this.#seen = others;
      return changed;
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#listeners.clear();
    try {
      if (this.stop() !== 0) this.lock.free();
      this.#medium.close(); // what was begun is still done
    } finally {
      this.lock.close(); // whatever failed: a lock that stayed would hold up every other tab
    }
  }
}
