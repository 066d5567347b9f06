/** Schema: how a database gets its tables, from nothing, from an older version, or anew after a newer one. */

import { result } from "./connect.ts";
import { type Report, version } from "./contract.ts";
import { DatabaseTables } from "./database.ts";
import { StoreError } from "./errors.ts";
import { type Head, newHead, parseHead } from "./head.ts";
import { markOf } from "./rule.ts";
import type { StoredBody } from "./seal.ts";
import { type Shape, shapes, steps, type TableName, tableNames } from "./tables.ts";
import { hex } from "./text.ts";
import { type StoredRow, unreadable } from "./transaction.ts";

type Range = typeof IDBKeyRange;

function create(db: IDBDatabase, name: string, shape: Shape): void {
  const store = db.createObjectStore(name, { keyPath: shape.key as string | string[] });
  for (const [index, { path, unique }] of Object.entries(shape.indexes ?? {})) {
    store.createIndex(index, path as string | string[], { unique: unique ?? false });
  }
}

/** Runs the steps that a database of version `from` lacks, and returns its head as of the last. */
function climb(db: IDBDatabase, t: DatabaseTables, head: Head, to: number): Head {
  for (const step of steps) {
    if (step.to <= head.version || step.to > to) continue;
    for (const [name, shape] of Object.entries(step.tables)) create(db, name, shape);
    head.version = step.to;
    if (step.to === 2) {
      head.device = crypto.getRandomValues(new Uint8Array(16));
      t.put("marks", { device: hex(head.device), mark: markOf(0n) });
    }
  }
  t.put("meta", head);
  return head;
}

/** Whether a database has the tables of a version. */
export function hasTables(db: IDBDatabase, of = version): boolean {
  const names = steps.flatMap((s) => (s.to <= of ? Object.keys(s.tables) : []));
  return names.every((n) => db.objectStoreNames.contains(n));
}

/** Makes the tables in the transaction of a new database. `to` is the version to stop at, for tests of old ones. */
export async function build(db: IDBDatabase, t: IDBTransaction, range: Range, to = version): Promise<void> {
  climb(db, new DatabaseTables(t, range), newHead(0), to);
}

/** Brings an older version to this one, in one transaction. Answers the version that it found. */
export async function migrate(db: IDBDatabase, t: IDBTransaction, range: Range): Promise<number> {
  const tables = new DatabaseTables(t, range);
  const head = parseHead(await tables.get("meta", "head"));
  const from = head.version;
  if (from < version) climb(db, tables, head, version);
  return from;
}

/** What of a database is carried over by `rebuild`. */
async function take(db: IDBDatabase, t: IDBTransaction) {
  const all = async (name: TableName) =>
    db.objectStoreNames.contains(name) ? ((await result(t.objectStore(name).getAll())) as unknown[]) : undefined;
  const outbox = await all("outbox");
  const meta = (await all("meta")) as Head[] | undefined;
  const head = meta?.find((m) => m.name === "head");
  if (!outbox || head?.app !== "hapax") throw new StoreError("corrupt", "no outbox to carry over");
  return { head, outbox, bodies: await all("bodies"), marks: await all("marks"), aside: await all("aside") };
}

/** A body that this SDK can read, or could with its key. */
function isBody(raw: unknown): raw is StoredBody {
  const b = raw as { text?: unknown; data?: unknown; sealed?: unknown } | undefined;
  return b?.sealed instanceof Uint8Array || (typeof b?.text === "string" && typeof b.data === "string");
}

const orZero = (n: unknown): number => (Number.isSafeInteger(n) && (n as number) > 0 ? (n as number) : 0);

/**
 * Builds this SDK's schema anew in one transaction, whatever version is there: carries over owner, fence, device, marks and
 * every outbox row, drops messages and cursors, and sets the version. A row that this SDK can't read is set aside with its
 * bytes. A device comes with its mark, or without one, so that it gives no ids, where the marks lack it.
 */
export async function rebuild(db: IDBDatabase, t: IDBTransaction, range: Range): Promise<Report> {
  const old = await take(db, t);
  for (const name of Array.from(db.objectStoreNames)) db.deleteObjectStore(name);
  for (const name of tableNames) create(db, name, shapes[name]);
  const tables = new DatabaseTables(t, range);
  const { owner, actor, keyCheck, device } = old.head;
  const head: Head = { ...newHead(version), owner, actor, keyCheck };
  for (const name of ["fence", "position", "feed", "evicted", "changes"] as const) head[name] = orZero(old.head[name]);
  head.device = old.marks && device ? device : crypto.getRandomValues(new Uint8Array(16));
  if (!old.marks) tables.put("marks", { device: hex(head.device), mark: markOf(0n) });
  for (const m of old.marks ?? []) tables.put("marks", m as object);
  let setAside = 0;
  const aside = (table: string, why: string, value: unknown) =>
    tables.put("aside", { n: ++head.rows.aside, table, why, value });
  for (const a of (old.aside ?? []) as { table: string; why: string; value: unknown }[]) aside(a.table, a.why, a.value);
  const bodies = new Map(old.bodies?.map((b) => [(b as { position: unknown }).position, b]));
  const keys = new Set<string>();
  for (const raw of old.outbox as StoredRow[]) {
    const body = bodies.get(raw.position);
    const key = JSON.stringify([raw.room, raw.id]);
    const why =
      unreadable(raw) ??
      (isBody(body) ? undefined : "no body") ??
      (keys.has(key) ? "its key is there twice" : undefined);
    head.position = Math.max(head.position, orZero(raw.position));
    if (why) {
      setAside++;
      aside("outbox", why, { ...raw, body });
      continue;
    }
    keys.add(key);
    head.rows[raw.state]++;
    tables.put("outbox", raw);
    tables.put("bodies", body as object);
  }
  head.feed++; // what an app remembers of positions is from before
  head.changes++;
  tables.put("meta", head);
  return { created: false, from: orZero(old.head.version), to: version, setAside };
}
