/** A tab killed at every request that each of its changes makes: all of the change is there, or nothing is. */

import { describe, expect, it } from "vitest";
import { isStoreError, type Store } from "../../src/store/contract.ts";
import { openDatabase, resetDatabase } from "../../src/store/indexeddb.ts";
import { Leader } from "../../src/tabs/leader.ts";
import { type Dump, dump, encode, load } from "../help/dump.ts";
import { sealKey } from "../help/key.ts";
import { killAt } from "../help/killer.ts";
import { nodeEnv } from "../help/node.ts";
import { add, apply, confirm, cursor, entry, foreign, own, sending, step } from "./suite/suite.ts";

const name = "crash";

/** A tab on a database. */
function tab(factory: IDBFactory, key?: CryptoKey) {
  const env = nodeEnv({ indexedDB: factory });
  return {
    name,
    env,
    key,
    limits: { aside: 1 },
    lock: (beats: ConstructorParameters<typeof Leader>[2]) => new Leader(env, name, beats),
  };
}

const newFactory = () => nodeEnv().indexedDB!;

/** A store with rows in every state, messages and cursors. */
async function made(): Promise<Dump> {
  const factory = newFactory();
  const st = await openDatabase(tab(factory));
  await st.bind({ actor: "a", server: "s" });
  const rows = await add(st, ...[1, 2, 3, 4, 5, 6].map((n) => entry("r", n)));
  const fence = await st.drain();
  await apply(st, fence, { kind: "snapshot", room: "r", cursor: cursor(2), messages: foreign("r", 1, 2), now: 1 });
  await apply(st, fence, sending(rows[1]!));
  await apply(st, fence, step(rows[2]!, "parked", { reason: "too_large", asideAt: 10 }));
  await apply(st, fence, step(rows[3]!, "uncertain", { asideAt: 20 }));
  await apply(st, fence, confirm(rows[5]!, 9));
  await st.close();
  return dump(factory, name);
}

/** What a handle that drains changes, by name. */
const changes: Record<string, (st: Store, fence: number) => Promise<unknown>> = {
  add: (st) => st.add(0, [entry("r", 7), entry("r", 1), entry("s", 8)]),
  "add and send": (st, fence) => st.add(fence, [{ ...entry("r", 7), state: "sending", firstSentAt: 5, attempts: 1 }]),
  reserve: (st) => st.reserve(st.device, 8, 3n),
  "reserve of another device": (st) => st.reserve(new Uint8Array(16), 8, 0n),
  cancel: (st) => st.cancel(entry("r", 1)),
  retry: (st) => st.retry(entry("r", 4), 30),
  discard: (st) => st.discard(entry("r", 3)),
  step: async (st, fence) => apply(st, fence, sending((await st.find(entry("r", 1)))!)),
  confirm: (st, fence) => apply(st, fence, confirm(entry("r", 3), 3)),
  rows: (st, fence) => {
    const messages = [
      own(entry("r", 1), 3),
      { ...own(entry("r", 5), 4), fingerprint: "v1:other" },
      ...foreign("r", 5, 5),
    ];
    return apply(st, fence, { kind: "rows", room: "r", from: cursor(2), to: cursor(5), messages, now: 40 });
  },
  snapshot: (st, fence) =>
    apply(st, fence, {
      kind: "snapshot",
      room: "r",
      cursor: cursor(4),
      messages: [...foreign("r", 2, 3), own(entry("r", 1), 4)],
      now: 40,
    }),
  "several changes": (st, fence) =>
    st.apply(fence, [
      confirm(entry("r", 1), 3),
      confirm(entry("r", 2), 4),
      { kind: "snapshot", room: "s", cursor: cursor(0), messages: [], now: 0 },
    ]),
  evict: (st, fence) => st.evict(fence, 50),
  forget: (st) => st.forget("r"),
  "forget all": (st) => st.forget(""),
};

/** Tries work from a state, killed at every point; `start` opens what the work needs before that. */
async function tryAll<T>(
  base: Dump | undefined,
  start: (f: IDBFactory) => Promise<T>,
  work: (t: T, f: IDBFactory) => Promise<unknown>,
  end: (t: T) => Promise<void>,
  see: (d: Dump) => string = encode,
): Promise<number> {
  const once = async (point?: Parameters<typeof killAt>[0]) => {
    const factory = newFactory();
    if (base) await load(factory, name, base);
    const t = await start(factory);
    const before = see(await dump(factory, name));
    const { made: requests, done } = await killAt(point, () => work(t, factory));
    const after = see(await dump(factory, name));
    await end(t);
    // Whatever happened, the next tab finds a store that it can use, with its counts in order.
    const how = tab(factory, await keyOf(after));
    const next = await openDatabase(how).catch(async (e) => {
      if (!isStoreError(e, "incompatible")) throw e;
      await resetDatabase(how);
      return openDatabase(how);
    });
    const rows = await next.list(0, 100);
    const counts = await next.counts();
    expect(counts.queued + counts.parked + counts.uncertain).toBe(rows.length);
    for (const r of rows) await next.body(r.position);
    await next.drain();
    expect((await next.counts()).sending).toBe(0);
    await next.close();
    return { requests, done, before, after };
  };
  const whole = await once();
  expect(whole.done).toBe(true);
  expect(whole.after).not.toBe(whole.before);
  for (let at = 1; at <= whole.requests; at++) {
    for (const when of ["before", "after"] as const) {
      const tried = await once({ at, when });
      expect(tried.done).toBe(false);
      expect([whole.before, whole.after]).toContain(tried.after);
    }
  }
  return whole.requests;
}

const keyOf = (state: string) => (state.includes("keyCheck") ? sealKey() : Promise.resolve(undefined));

/** A dump without what is random: the device, its mark's name. */
const withoutDevice = (d: Dump) =>
  encode(d)
    .replace(/"[0-9a-f]{32}"/g, '"id"')
    .replace(/"[\w+/]{22}=="/g, '"device"');

/** A dump without what sealing makes random. */
const withoutNonces = (d: Dump) => encode(d).replace(/"base64": "[\w+/=]{30,}"/g, '"base64": "sealed"');

describe("a tab killed at every request of", () => {
  it.each(Object.keys(changes))("%s", async (what) => {
    const start = async (f: IDBFactory) => {
      const st = await openDatabase(tab(f));
      return { st, fence: await st.drain() };
    };
    const n = await tryAll(
      await made(),
      start,
      ({ st, fence }) => changes[what]!(st, fence),
      ({ st }) => st.close(),
    );
    expect(n).toBeGreaterThan(1);
  });

  it("drain", async () => {
    await tryAll(
      await made(),
      (f) => openDatabase(tab(f)),
      (st) => st.drain(),
      (st) => st.close(),
    );
  });

  it("bind", async () => {
    const factory = newFactory();
    await (await openDatabase(tab(factory))).close();
    const base = await dump(factory, name);
    await tryAll(
      base,
      (f) => openDatabase(tab(f)),
      (st) => st.bind({ actor: "b", server: "s" }),
      (st) => st.close(),
    );
  });

  it("opening a new store", async () => {
    const n = await tryAll(
      undefined,
      async () => {},
      async (_, f) => (await openDatabase(tab(f))).close(),
      async () => {},
      withoutDevice,
    );
    expect(n).toBeGreaterThan(10);
  });

  it("sealing a plain store", async () => {
    const key = await sealKey();
    await tryAll(
      await made(),
      async () => {},
      async (_, f) => (await openDatabase({ ...tab(f, key), encrypt: true })).close(),
      async () => {},
      withoutNonces,
    );
  });

  it("setting an unreadable row aside", async () => {
    const base = await made();
    Object.assign(base.tables.outbox!.values[0] as object, { state: "odd" });
    await tryAll(
      base,
      async () => {},
      async (_, f) => (await openDatabase(tab(f))).close(),
      async () => {},
    );
  });

  it("reset", async () => {
    const base = await made();
    const head = base.tables.meta!.values.find((m) => (m as { name: string }).name === "head");
    const newer = structuredClone(base);
    for (const m of newer.tables.meta!.values as { name: string; version?: number }[])
      if (m.name === "head") m.version = 3;
    expect(head).toBeDefined();
    await tryAll(
      newer,
      async () => {},
      async (_, f) => resetDatabase(tab(f)),
      async () => {},
    );
  });
});
