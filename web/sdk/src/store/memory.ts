/**
 * The store that keeps nothing past its process: for Node, for tests, for pages where there is no IndexedDB and the app
 * accepts that. It behaves as the IndexedDB store does, as both run the same rules over their tables.
 *
 * A MemoryMedium stands for the database; handles opened on it stand for tabs. There is no Web Lock: of the handles on
 * one medium one drains, and the others get a hint when it ends.
 */

import { type Hint, version } from "./contract.ts";
import { newHead } from "./head.ts";
import type { Lock } from "./lock.ts";
import { openTables, type StoreOptions } from "./open.ts";
import { markOf } from "./rule.ts";
import type { TableStore } from "./store.ts";
import { type Medium, type Query, type Shape, shapes, type TableKey, type TableName, type Tables } from "./tables.ts";
import { hex } from "./text.ts";

/** Orders keys as IndexedDB does. */
function compare(a: TableKey, b: TableKey): number {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < a.length && i < b.length; i++) {
      const c = compare(a[i], b[i]);
      if (c !== 0) return c;
    }
    return a.length - b.length;
  }
  const rank = (k: TableKey) => (typeof k === "number" ? 0 : typeof k === "string" ? 1 : 2);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  return a < b ? -1 : a > b ? 1 : 0;
}

type Value = Readonly<Record<string, unknown>>;

/** The key of a value by a path, undefined where a member is missing. */
function keyOf(path: string | readonly string[], v: Value): TableKey | undefined {
  if (typeof path === "string") return v[path] as TableKey | undefined;
  const key = path.map((p) => v[p]);
  return key.includes(undefined) ? undefined : (key as unknown as TableKey);
}

/** Greater than every key that begins with the given one. */
const above = (key: TableKey) => [key, [[]]] as unknown as TableKey;

/** Values by a rising key. */
class Sorted {
  readonly #items: { readonly key: TableKey; readonly value: Value }[] = [];

  /** Where the first item is that is not below the key. */
  #find(key: TableKey): number {
    let lo = 0;
    for (let hi = this.#items.length; lo < hi; ) {
      const mid = (lo + hi) >> 1;
      if (compare(this.#items[mid]!.key, key) < 0) lo = mid + 1;
      else hi = mid;
    }
    return lo;
  }

  /** Puts a value in the place of the one with its key; undefined removes that. Returns what was there. */
  set(key: TableKey, value: Value | undefined): Value | undefined {
    const i = this.#find(key);
    const before = this.get(key);
    this.#items.splice(i, before ? 1 : 0, ...(value ? [{ key, value }] : []));
    return before;
  }

  get(key: TableKey): Value | undefined {
    const item = this.#items[this.#find(key)];
    return item && compare(item.key, key) === 0 ? item.value : undefined;
  }

  /** Values from one key to below another, at most limit, from the lower or the upper end. */
  between(lower: TableKey | undefined, upper: TableKey | undefined, limit: number, reverse: boolean): Value[] {
    const from = lower === undefined ? 0 : this.#find(lower);
    const to = upper === undefined ? this.#items.length : Math.max(from, this.#find(upper));
    const items = reverse
      ? this.#items.slice(Math.max(from, to - limit), to).reverse()
      : this.#items.slice(from, Math.min(to, from + limit));
    return items.map((i) => i.value);
  }
}

/** A table: its values by key, and by [index key, key] in each index. */
class Table {
  readonly #shape: Shape;
  readonly #indexes = new Map<string, Sorted>([["", new Sorted()]]);

  constructor(shape: Shape) {
    this.#shape = shape;
    for (const name of Object.keys(shape.indexes ?? {})) this.#indexes.set(name, new Sorted());
  }

  keyOf(value: Value): TableKey {
    return keyOf(this.#shape.key, value)!;
  }

  get(key: TableKey): Value | undefined {
    return this.#indexes.get("")!.get([key] as unknown as TableKey);
  }

  /** As Sorted.set. */
  set(key: TableKey, value: Value | undefined): Value | undefined {
    const before = this.#indexes.get("")!.set([key] as unknown as TableKey, value);
    for (const [name, { path }] of Object.entries(this.#shape.indexes ?? {})) {
      for (const v of [before, value]) {
        const at = v && keyOf(path, v);
        if (at !== undefined)
          this.#indexes.get(name)!.set([at, key] as unknown as TableKey, v === value ? value : undefined);
      }
    }
    return before;
  }

  all(q: Query): Value[] {
    const lower = q.lower === undefined ? undefined : q.open ? above(q.lower) : ([q.lower] as unknown as TableKey);
    const upper = q.upper === undefined ? undefined : above(q.upper);
    return this.#indexes
      .get(q.index ?? "")!
      .between(lower, upper, q.limit ?? Number.POSITIVE_INFINITY, q.reverse ?? false);
  }
}

/** What handles opened on it share, as a database does. Give it to openMemoryStore. */
export class MemoryMedium implements Medium {
  readonly #tables = {} as Record<TableName, Table>;
  readonly #handles = new Set<MemoryLock>();
  #drainer: MemoryLock | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(device: Uint8Array = crypto.getRandomValues(new Uint8Array(16))) {
    for (const [name, shape] of Object.entries(shapes)) this.#tables[name as TableName] = new Table(shape);
    this.#put("meta", { ...newHead(version), device: Uint8Array.from(device) });
    this.#put("marks", { device: hex(device), mark: markOf(0n) });
  }

  #put(name: TableName, value: object): () => void {
    const table = this.#tables[name];
    const key = table.keyOf(value as Value);
    const before = table.set(key, value as Value);
    return () => table.set(key, before);
  }

  /** One transaction after the other; what a failed one changed is put back. */
  run<T>(_mode: string, f: (t: Tables) => Promise<T>): Promise<T> {
    const run = this.#last.then(async () => {
      const undo: (() => void)[] = [];
      const remove = (name: TableName, key: TableKey) => {
        const table = this.#tables[name];
        const before = table.set(key, undefined);
        undo.push(() => table.set(key, before));
      };
      try {
        return await f({
          get: async (table, key) => this.#tables[table].get(key),
          all: async (table, q) => this.#tables[table].all(q),
          put: (table, value) => void undo.push(this.#put(table, value)),
          delete: remove,
          clear: (name) => {
            const table = this.#tables[name];
            for (const v of table.all({})) remove(name, table.keyOf(v));
          },
        });
      } catch (e) {
        for (const back of undo.reverse()) back();
        throw e;
      }
    });
    this.#last = run.catch(() => undefined);
    return run;
  }

  /** A medium with the same content and no handles, as a copy of a database is. */
  async copy(): Promise<MemoryMedium> {
    const c = new MemoryMedium();
    await this.run("readonly", async (t) => {
      for (const name of Object.keys(shapes) as TableName[]) {
        c.#tables[name] = new Table(shapes[name]);
        for (const v of await t.all(name, {})) c.#put(name, v as object);
      }
    });
    return c;
  }

  close(): void {}

  /** The lock of a new handle. @internal */
  lock(): Lock {
    return new MemoryLock(this.#handles, {
      get: () => this.#drainer,
      set: (l) => {
        this.#drainer = l;
      },
    });
  }
}

/** Of the handles on a medium one holds the lock. */
class MemoryLock implements Lock {
  readonly #all: Set<MemoryLock>;
  readonly #holder: { get(): MemoryLock | undefined; set(l: MemoryLock | undefined): void };
  #hear: (hint: Hint) => void = () => {};

  constructor(all: Set<MemoryLock>, holder: { get(): MemoryLock | undefined; set(l: MemoryLock | undefined): void }) {
    this.#all = all;
    this.#holder = holder;
    all.add(this);
  }

  async take() {
    if (this.#holder.get()) return undefined;
    this.#holder.set(this);
    return { judged: false };
  }

  hold(): boolean {
    return this.#holder.get() === this;
  }

  free(): void {
    if (!this.hold()) return;
    this.#holder.set(undefined);
    this.#tell("free");
  }

  announce(): void {
    this.#tell("changed");
  }

  listen(f: (hint: Hint) => void): void {
    this.#hear = f;
  }

  close(): void {
    this.#all.delete(this);
    this.free();
  }

  #tell(hint: Hint): void {
    for (const l of this.#all) if (l !== this) queueMicrotask(() => l.#hear(hint));
  }
}

/** Opens a handle on a medium; without one, on a medium of its own. */
export function openMemoryStore(o: StoreOptions & { readonly medium?: MemoryMedium } = {}): Promise<TableStore> {
  const medium = o.medium ?? new MemoryMedium();
  const limits = { roomRows: 10_000, roomBytes: 16 * 2 ** 20, ...o.limits };
  return openTables(
    medium,
    medium.lock(),
    { ...o, limits },
    {
      created: o.medium === undefined,
      from: version,
      to: version,
      setAside: 0,
    },
  );
}
