/** Transaction: the outbox's rows, and the head, within one transaction of a medium. */

import { isCount, isId, states } from "./check.ts";
import { maxReceipts, type Receipt } from "./contract.ts";
import { StoreError } from "./errors.ts";
import { type Head, parseHead } from "./head.ts";
import type { Key, Row, State } from "./row.ts";
import type { StoredBody } from "./seal.ts";
import type { Query, TableKey, TableName, Tables } from "./tables.ts";

/** A row as it lies in the table: its fingerprint may be sealed. */
export type StoredRow = Omit<Row, "fingerprint"> & { readonly fingerprint: string | Uint8Array };

/** Fingerprints that were opened, by their sealed bytes; undefined where those don't open. */
export type Opened = Map<string, string | undefined>;

/**
 * Sealed ends a transaction that has met fingerprints nobody has opened yet. Opening takes WebCrypto, which a transaction
 * can't wait for; so the store opens them and runs the transaction again.
 */
export class Sealed {
  readonly rows: readonly StoredRow[];

  constructor(rows: readonly StoredRow[]) {
    this.rows = rows;
  }
}

/** Why a row as found in the table can't be read, undefined where it can. */
export function unreadable(raw: unknown): string | undefined {
  const r = raw as StoredRow;
  for (const name of [
    "position",
    "revision",
    "size",
    "queuedAt",
    "attempts",
    "interval",
    "lastAttemptAt",
    "firstSentAt",
    "asideAt",
  ] as const) {
    if (!isCount(r?.[name])) return `${name} is not a number from 0`;
  }
  if (!states.includes(r.state)) return `state ${JSON.stringify(r.state)}`;
  if (typeof r.room !== "string" || !r.room) return "no room";
  if (!isId(r.id)) return "id is not a client message id";
  if (typeof r.reason !== "string") return "reason is not text";
  if (!(r.fingerprint instanceof Uint8Array) && (typeof r.fingerprint !== "string" || !r.fingerprint))
    return "no fingerprint";
  return undefined;
}

/** Transaction knows the head, and keeps its counts as rows come, change and go. */
export class Transaction {
  readonly tables: Tables;
  readonly head: Head;
  /** Whether anything changed, so that the head has to be written. */
  dirty = false;
  /** Called once all of it is stored. */
  onDone: () => void = () => {};
  /** By how much messages of rooms grew. */
  readonly grown = new Map<string, { rows: number; bytes: number }>();
  readonly #opened: Opened;
  readonly #sealed = new WeakMap<Row, Uint8Array>();

  private constructor(tables: Tables, head: Head, opened: Opened) {
    this.tables = tables;
    this.head = head;
    this.#opened = opened;
  }

  /** Begins by reading the head. keyCheck is what the handle found when it opened: another one means another key. */
  static async begin(tables: Tables, opened: Opened, keyCheck: Uint8Array | undefined): Promise<Transaction> {
    const head = parseHead(await tables.get("meta", "head"));
    if (String(head.keyCheck) !== String(keyCheck)) throw new StoreError("wrong_key", "its key was changed meanwhile");
    return new Transaction(tables, head, opened);
  }

  /** Ends by writing the head where anything changed. */
  end(): void {
    if (!this.dirty) return;
    this.head.changes++;
    this.tables.put("meta", this.head);
  }

  /** Rows of the outbox. */
  async rows(q: Query): Promise<Row[]> {
    return this.open((await this.tables.all("outbox", q)) as StoredRow[]);
  }

  async row(position: number): Promise<Row | undefined> {
    return this.open([await this.tables.get("outbox", position)])[0];
  }

  async byKey(key: Key): Promise<Row | undefined> {
    const at = [key.room, key.id];
    return (await this.rows({ index: "key", lower: at, upper: at }))[0];
  }

  /** Reads rows as found. One that can't be read is damage that came after this opening: the next one sets it aside. */
  open(raws: readonly unknown[]): Row[] {
    const found = raws.filter((r) => r !== undefined) as StoredRow[];
    const closed = found.filter((r) => typeof r.fingerprint !== "string" && !this.#opened.has(String(r.fingerprint)));
    if (closed.length > 0) throw new Sealed(closed);
    return found.map((r) => {
      const fingerprint = typeof r.fingerprint === "string" ? r.fingerprint : this.#opened.get(String(r.fingerprint));
      const why = unreadable(r) ?? (fingerprint === undefined ? "its fingerprint doesn't open" : undefined);
      if (why !== undefined) throw new StoreError("corrupt", `outbox row ${r.position}: ${why}`);
      const row = { ...r, fingerprint: fingerprint! };
      if (typeof r.fingerprint !== "string") this.#sealed.set(row, r.fingerprint);
      return row;
    });
  }

  /** Adds a row behind all others. */
  insert(row: Row, fingerprint: string | Uint8Array, body: StoredBody): void {
    if (typeof fingerprint !== "string") this.#opened.set(String(fingerprint), row.fingerprint);
    this.head.position = row.position;
    this.#count(row.state, 1);
    this.put("outbox", { ...row, fingerprint });
    this.put("bodies", { position: row.position, ...body });
  }

  /** Changes a row that was read as `before`. */
  update(before: Row, row: Row): void {
    this.#count(before.state, -1);
    this.#count(row.state, 1);
    this.put("outbox", { ...row, fingerprint: this.#sealed.get(before) ?? row.fingerprint });
  }

  /** Removes a row that the server has, and notes where. */
  confirm(row: Row, { messageId, seq, epoch, at }: Omit<Receipt, keyof Key>): void {
    const n = (this.head.receipts ?? 0) + 1;
    this.head.receipts = n;
    this.put("receipts", { room: row.room, id: row.id, n, messageId, seq, epoch, at });
    this.remove(row);
  }

  /** Forgets the receipts that are too many by now. */
  async forgetReceipts(): Promise<void> {
    const upper = (this.head.receipts ?? 0) - maxReceipts;
    if (upper <= 0) return;
    for (const r of (await this.tables.all("receipts", { index: "n", upper, limit: 1000 })) as Receipt[])
      this.delete("receipts", [r.room, r.id]);
  }

  remove(row: Row): void {
    this.#count(row.state, -1);
    this.delete("outbox", row.position);
    this.delete("bodies", row.position);
  }

  /** Moves a value, as it was found, from a table to the table aside. */
  setAside(table: TableName, key: TableKey, why: string, value: unknown): void {
    this.put("aside", { n: ++this.head.rows.aside, table, why, value });
    this.delete(table, key);
  }

  /** Moves an outbox row that can't be read to the table aside, with its body. */
  async setRowAside(raw: StoredRow, why: string): Promise<void> {
    const body = await this.tables.get("bodies", raw.position);
    if (states.includes(raw.state)) this.#count(raw.state, -1);
    this.setAside("outbox", raw.position, why, { ...raw, body });
    this.delete("bodies", raw.position);
  }

  #count(state: State, by: number): void {
    this.head.rows[state] += by;
  }

  /** Notes that messages of a room came or went. */
  grow(room: string, rows: number, bytes: number): void {
    const g = this.grown.get(room) ?? { rows: 0, bytes: 0 };
    this.grown.set(room, { rows: g.rows + rows, bytes: g.bytes + bytes });
  }

  put(table: TableName, value: object): void {
    this.dirty = true;
    this.tables.put(table, value);
  }

  delete(table: TableName, key: TableKey): void {
    this.dirty = true;
    this.tables.delete(table, key);
  }

  clear(table: TableName): void {
    this.dirty = true;
    this.tables.clear(table);
  }
}
