/** Tables: what a store needs of a medium, and the tables it keeps there. */

/** A key, ordered as in IndexedDB: numbers, then strings by UTF-16 code units, then arrays by their members. */
export type TableKey = number | string | readonly (number | string | readonly never[])[];

export type TableName = "meta" | "outbox" | "bodies" | "messages" | "cursors" | "aside" | "marks" | "receipts";

/** The shape of a table: where a value has its key, and its indexes. A value that lacks a member isn't in its index. */
export interface Shape {
  readonly key: string | readonly string[];
  readonly indexes?: Readonly<Record<string, { readonly path: string | readonly string[]; readonly unique?: boolean }>>;
}

/**
 * All schema versions, oldest first. One that was released never changes: a further one goes behind it. Beside the tables,
 * version 2 makes the store's device and its mark.
 */
export const steps: readonly { readonly to: number; readonly tables: Readonly<Partial<Record<TableName, Shape>>> }[] = [
  {
    to: 1,
    tables: {
      meta: { key: "name" },
      outbox: { key: "position", indexes: { key: { path: ["room", "id"], unique: true }, state: { path: "state" } } },
      bodies: { key: "position" },
      messages: {
        key: ["room", "messageId"],
        indexes: {
          seq: { path: ["room", "seq", "messageId"] },
          feed: { path: "position", unique: true },
          roomFeed: { path: ["room", "position"] },
        },
      },
      cursors: { key: "room" },
      aside: { key: "n" },
    },
  },
  { to: 2, tables: { marks: { key: "device" } } },
  { to: 3, tables: { receipts: { key: ["room", "id"], indexes: { n: { path: "n", unique: true } } } } },
];

/** Every table of the newest version. */
export const shapes = Object.assign({}, ...steps.map((s) => s.tables)) as Readonly<Record<TableName, Shape>>;

export const tableNames = Object.keys(shapes) as TableName[];

/** Which values of a table to read: between two keys, of an index where one is named. */
export interface Query {
  readonly index?: string;
  readonly lower?: TableKey;
  /** Leaves out `lower` itself. */
  readonly open?: boolean;
  readonly upper?: TableKey;
  readonly limit?: number;
  /** From the greatest key down. */
  readonly reverse?: boolean;
}

/** The tables within one transaction. Only what is read may be awaited there: a transaction left alone commits. */
export interface Tables {
  get(table: TableName, key: TableKey): Promise<unknown>;
  all(table: TableName, q: Query): Promise<unknown[]>;
  /** A put or delete that fails makes the transaction fail. */
  put(table: TableName, value: object): void;
  delete(table: TableName, key: TableKey): void;
  /** Deletes all values of a table, as delete does. */
  clear(table: TableName): void;
}

/** Medium is where the tables are. */
export interface Medium {
  /**
   * Runs f in one transaction and is done once that is durable, unless asked to be relaxed about it. Where f or anything
   * in it fails, nothing has changed. Transactions that write run one after the other.
   */
  run<T>(mode: "readonly" | "readwrite", f: (t: Tables) => Promise<T>, durability?: "strict" | "relaxed"): Promise<T>;
  /** Tries at once what it would otherwise wait to try again. */
  tryNow?(): void;
  close(): void;
}

/** The keys that begin with some members: from [...prefix] to [...prefix, []], as an array is greater than any member. */
export const within = (...prefix: (number | string)[]): { lower: TableKey; upper: TableKey } => ({
  lower: prefix,
  upper: [...prefix, []],
});
