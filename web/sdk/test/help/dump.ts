/** Whole databases as JSON, and back: for copies, and for files of old versions that are kept. */

import { result } from "../../src/store/connect.ts";

interface DumpedTable {
  readonly key: string | string[];
  readonly indexes: Record<string, { readonly path: string | string[]; readonly unique: boolean }>;
  readonly values: unknown[];
}

export interface Dump {
  readonly version: number;
  readonly tables: Record<string, DumpedTable>;
}

export function open(
  factory: IDBFactory,
  name: string,
  version?: number,
  upgrade?: (db: IDBDatabase) => void,
): Promise<IDBDatabase> {
  const request = factory.open(name, version);
  request.onupgradeneeded = () => upgrade?.(request.result);
  return result(request);
}

/** Reads everything that a database holds, as of one moment. */
export async function dump(factory: IDBFactory, name: string): Promise<Dump> {
  const db = await open(factory, name);
  const names = Array.from(db.objectStoreNames);
  const tables: Record<string, DumpedTable> = {};
  const t = names.length > 0 ? db.transaction(names) : undefined;
  for (const n of names) {
    const store = t!.objectStore(n);
    const indexes = Array.from(store.indexNames, (i) => {
      const { keyPath, unique } = store.index(i);
      return [i, { path: keyPath, unique }] as const;
    });
    tables[n] = {
      key: store.keyPath as string | string[],
      indexes: Object.fromEntries(indexes),
      values: await result(store.getAll()),
    };
  }
  const version = db.version;
  db.close();
  return { version, tables };
}

/** Makes a database of what was dumped. */
export async function load(factory: IDBFactory, name: string, d: Dump): Promise<void> {
  const db = await open(factory, name, d.version, (made) => {
    for (const [table, { key, indexes, values }] of Object.entries(d.tables)) {
      const store = made.createObjectStore(table, { keyPath: key });
      for (const [i, { path, unique }] of Object.entries(indexes)) store.createIndex(i, path, { unique });
      for (const v of values) store.put(v);
    }
  });
  db.close();
}

/** A dump as JSON, bytes in base64. */
export function encode(d: Dump): string {
  const bytes = (_: string, v: unknown) => (v instanceof Uint8Array ? { base64: btoa(String.fromCharCode(...v)) } : v);
  return `${JSON.stringify(d, bytes, 1)}\n`;
}

export function decode(json: string): Dump {
  return JSON.parse(json, (_, v) =>
    typeof v?.base64 === "string" ? Uint8Array.from(atob(v.base64), (c) => c.charCodeAt(0)) : v,
  );
}

/** Runs f on the tables of a database, whatever is in it, in one transaction. */
export async function tamper(factory: IDBFactory, name: string, f: (t: IDBTransaction) => void): Promise<void> {
  const db = await open(factory, name);
  const t = db.transaction(Array.from(db.objectStoreNames), "readwrite");
  f(t);
  await new Promise((resolve, reject) => {
    t.oncomplete = resolve;
    t.onabort = () => reject(t.error);
  });
  db.close();
}
