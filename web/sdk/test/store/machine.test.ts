/** A browser that has no IndexedDB, or whose IndexedDB fails. */

import { IDBObjectStore } from "fake-indexeddb";
import { describe, expect, it } from "vitest";
import type { DatabaseEnv } from "../../src/store/connect.ts";
import { openDatabase } from "../../src/store/indexeddb.ts";
import { dump, encode, open } from "../help/dump.ts";
import { sealKey } from "../help/key.ts";
import { Origin } from "../help/tab.ts";
import { readOld } from "./old.ts";
import { add, entry, list, refused } from "./suite/suite.ts";

const tabOf = (o: Origin, env: Partial<DatabaseEnv>) => ({ ...o.tab(), env: { ...o.tab().env, ...env } });

describe("without IndexedDB", () => {
  it("opening says so", () => refused(openDatabase(tabOf(new Origin(), { indexedDB: undefined })), "unavailable"));

  it("that throws when it is used, opening says so", async () => {
    const open = () => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
    await refused(openDatabase(tabOf(new Origin(), { indexedDB: { open } as unknown as IDBFactory })), "unavailable");
  });

  it.each([
    ["UnknownError", "unavailable"],
    ["InvalidStateError", "unavailable"],
    ["QuotaExceededError", "quota"],
  ] as const)("that fails to open by %s, opening says %s", async (name, code) => {
    const failing = () => {
      const request = { error: new DOMException("no", name) } as unknown as IDBOpenDBRequest;
      queueMicrotask(() => request.onerror!(new Event("error")));
      return request;
    };
    await refused(openDatabase(tabOf(new Origin(), { indexedDB: { open: failing } as unknown as IDBFactory })), code);
  });

  it("that a frozen tab keeps at an older version, opening says so after 10 s", async () => {
    const o = await Origin.of(await readOld("plain.json"));
    const frozen = await open(o.factory, o.name); // hears of no versionchange
    const after = (ms: number, f: () => void) => {
      expect(ms).toBe(10_000);
      queueMicrotask(f);
      return () => {};
    };
    await refused(openDatabase(tabOf(o, { after })), "unavailable");
    frozen.close();
    const st = await openDatabase(o.tab());
    expect((await list(st)).length).toBe(7);
    await st.close();
  });
});

/** Runs work while no body can be put, as on a full disk. */
async function onFullDisk(work: () => Promise<unknown>): Promise<void> {
  const { put } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.put = function (this: IDBObjectStore, ...args: Parameters<typeof put>) {
    if (this.name === "bodies") throw new DOMException("full", "QuotaExceededError");
    return put.apply(this, args);
  };
  try {
    await work();
  } finally {
    IDBObjectStore.prototype.put = put;
  }
}

describe("a full disk", () => {
  it("refuses what would not fit before anything of it is stored, and goes on when there is room", async () => {
    const o = new Origin();
    const st = await openDatabase(o.tab());
    await add(st, entry("r", 1));
    const before = encode(await dump(o.factory, o.name));
    await onFullDisk(() => refused(st.add(0, [entry("r", 2), entry("r", 3)]), "quota"));
    expect(encode(await dump(o.factory, o.name))).toBe(before);
    await add(st, entry("r", 2));
    expect((await list(st)).length).toBe(2);
    await st.close();
  });

  it("leaves no memory of a row that another tab's row then takes the place of", async () => {
    const o = new Origin();
    const key = await sealKey();
    const [st, other] = [await openDatabase(o.tab({ key })), await openDatabase(o.tab({ key }))];
    await onFullDisk(() => refused(st.add(0, [entry("r", 1)]), "quota"));
    const [row] = await add(other, entry("r", 2));
    expect(await list(st)).toEqual([row]);
    await st.close();
    await other.close();
  });
});

describe("a database that the browser closes", () => {
  it("is told as closed, and the drainer hears that it lost it", async () => {
    const o = new Origin();
    const st = await openDatabase(o.tab());
    await st.drain();
    const lost = new Promise<string>((resolve) => st.listen(resolve));
    // As "clear site data" does: everybody is asked to close, then it is gone.
    await new Promise((resolve) => {
      o.factory.deleteDatabase(o.name).onsuccess = resolve;
    });
    expect(await lost).toBe("lost");
    await refused(st.add(0, [entry("r", 1)]), "closed");
    await st.close();
  });
});
