/**
 * Killer ends a tab at a chosen point of its work on IndexedDB: at the n-th request, before or just after it was made. The
 * transaction is aborted, as the browser aborts that of a dead tab, and nothing that the tab does afterwards reaches the
 * database.
 */

import { IDBDatabase, IDBFactory, IDBIndex, IDBObjectStore } from "fake-indexeddb";

/** What a killed tab's code sees; nobody reads it any more. */
export class Killed extends Error {}

interface Point {
  /** At which request, from 1. */
  readonly at: number;
  readonly when: "before" | "after";
}

type Method = (...args: unknown[]) => unknown;
type Prototype = Record<string, Method>;

const requests: readonly (readonly [object, readonly string[]])[] = [
  [IDBObjectStore.prototype, ["get", "getAll", "put", "delete", "openCursor", "createIndex"]],
  [IDBIndex.prototype, ["getAll", "openCursor"]],
  [IDBDatabase.prototype, ["createObjectStore", "deleteObjectStore"]],
];
const doors: readonly (readonly [object, string])[] = [
  [IDBDatabase.prototype, "transaction"],
  [IDBFactory.prototype, "open"],
];

/** Runs work and kills it at a point; answers how many requests it made, and whether it came to its end. */
export async function killAt(
  point: Point | undefined,
  work: () => Promise<unknown>,
): Promise<{ made: number; done: boolean }> {
  let made = 0;
  let dead = false;
  let upgrade: IDBTransaction | undefined;
  const restore: (() => void)[] = [];
  const wrap = (of: object, name: string, f: (self: unknown, real: () => unknown) => unknown) => {
    const prototype = of as Prototype;
    const real = prototype[name]!;
    prototype[name] = function (this: unknown, ...args: unknown[]) {
      return f(this, () => real.apply(this, args));
    };
    restore.push(() => {
      prototype[name] = real;
    });
  };
  const die = (self: unknown): never => {
    dead = true;
    const t = (self as IDBObjectStore).transaction ?? (self as IDBIndex).objectStore?.transaction ?? upgrade;
    t.abort();
    throw new Killed();
  };
  for (const [of, names] of requests) {
    for (const name of names) {
      wrap(of, name, (self, real) => {
        if (dead) throw new Killed();
        const now = ++made === point?.at;
        if (now && point?.when === "before") die(self);
        const answer = real();
        return now ? die(self) : answer;
      });
    }
  }
  for (const [of, name] of doors) {
    wrap(of, name, (_, real) => {
      if (dead) throw new Killed();
      const answer = real();
      if (name === "open") {
        const request = answer as IDBOpenDBRequest;
        request.addEventListener("upgradeneeded", () => {
          upgrade = request.transaction as unknown as IDBTransaction;
        });
      }
      return answer;
    });
  }
  try {
    await work();
    return { made, done: true };
  } catch (e) {
    if (!dead) throw e;
    return { made, done: false };
  } finally {
    for (const back of restore) back();
  }
}
