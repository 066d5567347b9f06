import { describe, expect, it } from "vitest";
import { connect } from "../../src/store/connect.ts";
import { type Store, version } from "../../src/store/contract.ts";
import { openDatabase, resetDatabase } from "../../src/store/indexeddb.ts";
import { build } from "../../src/store/schema.ts";
import { type Dump, dump, encode, open, tamper } from "../help/dump.ts";
import { sealKey } from "../help/key.ts";
import { Origin } from "../help/tab.ts";
import { readOld, writeOld } from "./old.ts";
import { add, entry, list, refused, seqs } from "./suite/suite.ts";

const writes = Number(process.env.HAPAX_WRITE_OLD ?? 0);
if (writes > 0) await writeOld(writes);

/** What a store holds, as an app sees it. */
async function told(st: Store) {
  const outbox = [];
  for await (const pair of st.export()) outbox.push(pair);
  return { owner: await st.owner(), outbox, feed: seqs((await st.feed("", 0, 100)).messages), rooms: await st.rooms() };
}

/** The rows that are in plain.json. */
const rowsOf = (d: Dump) => d.tables.outbox!.values as { position: number; id: string }[];

async function aside(st: Store): Promise<string> {
  let all = "";
  for await (const a of st.setAside()) all += `${a.table}: ${a.why}: ${a.row}\n`;
  return all;
}

/** A store of the version after this one, with what this SDK doesn't know. */
async function newer(): Promise<Dump> {
  const o = await Origin.of(await readOld("plain.json"));
  const st = await openDatabase(o.tab());
  await st.reserve(st.device, 8, 5n);
  await st.close();
  await tamper(o.factory, o.name, (t) => {
    const head = t.objectStore("meta").get("head");
    head.onsuccess = () => t.objectStore("meta").put({ ...head.result, version: version + 1, shiny: true });
    t.objectStore("outbox").put({ position: 20, room: "r", id: "strange", newState: "thinking" });
    t.objectStore("bodies").put({ position: 20, text: "of the future", data: "" });
    t.objectStore("bodies").delete(3);
  });
  return dump(o.factory, o.name);
}

describe.each([1, 2])("C11 a store of version %i", (from) => {
  it.each([
    ["plain.json", undefined],
    ["plain.json", "a key of 32 bytes for tests only"],
    ["sealed.json", "a key of 32 bytes for tests only"],
  ] as const)("%s is brought to this version whole, with key %s", async (name, text) => {
    const old = await readOld(name, from);
    const o = await Origin.of(old);
    const key = text === undefined ? undefined : await sealKey(text);
    const st = await openDatabase(o.tab({ key, encrypt: name === "plain.json" }));
    expect(st.report).toEqual({ created: false, from, to: version, setAside: 0 });
    const got = await told(st);
    expect(got.owner).toEqual({ actor: "anna", server: "server-1" });
    expect(got.outbox.map(([r]) => [r.position, r.id])).toEqual(rowsOf(old).map((r) => [r.position, r.id]));
    for (const [row, body] of got.outbox) {
      const e = entry(row.room, row.position);
      expect([row.fingerprint, body]).toEqual([e.fingerprint, { text: e.text, data: e.data }]);
    }
    expect(got.feed).toBe("1@2 2@3 3@4 ");
    expect((await st.view("s", 0, 9))[0]!.text).toBe(entry("s", 8).text);
    expect((await st.reserve(st.device, 8, 0n)).start).toBe(1n);
    expect((await add(st, entry("r", 9)))[0]!.position).toBe(9);
    await st.close();
    const again = await openDatabase(o.tab({ key }));
    expect(again.report).toEqual({ created: false, from: version, to: version, setAside: 0 });
    expect(again.device).toEqual(st.device);
    await again.close();
  });

  it("keeps rows that can't be read, with their bytes", async () => {
    const o = await Origin.of(await readOld("damaged.json", from));
    let st = await openDatabase(o.tab());
    expect(st.report.setAside).toBe(3);
    expect((await list(st)).map((r) => r.position)).toEqual([1, 3, 4, 6]);
    expect(await st.counts()).toMatchObject({ queued: 2, sending: 1, parked: 1, uncertain: 1, setAside: 3 });
    const all = await aside(st);
    for (const want of [
      "attempts is not a number",
      '"many"',
      'state "odd"',
      "id is not",
      '{"base64":"AP8="}',
      "text 5 – ναῦς",
    ]) {
      expect(all).toContain(want);
    }
    await st.close();
    st = await openDatabase(o.tab()); // told of once, kept for good
    expect([st.report.setAside, (await st.counts()).setAside]).toEqual([0, 3]);
    await st.close();
  });

  it("is what the steps up to it make to this day", async () => {
    const o = new Origin();
    const { env } = o.tab();
    (await connect(env, "frozen", undefined, (d, t) => build(d, t, env.IDBKeyRange!, from)))!.close();
    const shapes = (d: Dump) => Object.entries(d.tables).map(([name, { key, indexes }]) => [name, key, indexes]);
    expect(shapes(await dump(o.factory, "frozen"))).toEqual(shapes(await readOld("plain.json", from)));
  });
});

describe("a store of a newer version", () => {
  it("is refused, and nothing in it changes", async () => {
    const d = await newer();
    const o = await Origin.of(d);
    await refused(openDatabase(o.tab()), "incompatible");
    await refused(openDatabase(o.tab({ key: await sealKey() })), "incompatible");
    expect(encode(await dump(o.factory, o.name))).toBe(encode(d));
  });

  it("that appears under an open handle stops it", async () => {
    const o = new Origin();
    const st = await openDatabase(o.tab());
    await tamper(o.factory, o.name, (t) => {
      const head = t.objectStore("meta").get("head");
      head.onsuccess = () => t.objectStore("meta").put({ ...head.result, version: version + 1 });
    });
    await refused(st.add(0, [entry("r", 1)]), "incompatible");
    await st.close();
  });

  it("becomes usable by reset: marks and rows are carried over, the unreadable set aside", async () => {
    const d = await newer();
    const o = await Origin.of(d);
    expect(await resetDatabase(o.tab())).toEqual({ created: false, from: version + 1, to: version, setAside: 2 });
    const st = await openDatabase(o.tab());
    expect((await list(st)).map((r) => r.position)).toEqual([1, 2, 4, 5, 6, 7]);
    expect(await st.counts()).toMatchObject({ queued: 5, sending: 1, parked: 0, uncertain: 1, setAside: 2 });
    const all = await aside(st);
    for (const want of ['"newState":"thinking"', "of the future", "no body", '"reason":"too_large"'])
      expect(all).toContain(want);
    expect(await told(st)).toMatchObject({ owner: { actor: "anna", server: "server-1" }, feed: "", rooms: [] });
    // The mark was at 5 · 2^40 + 8, and is never lowered.
    expect((await st.reserve(st.device, 8, 0n)).start).toBe((5n << 40n) + 9n);
    expect((await add(st, entry("r", 30)))[0]!.position).toBe(21);
    expect(await st.drain()).toBe(2);
    await st.close();
    expect((await dump(o.factory, o.name)).tables.meta!.values).toHaveLength(2);
  });

  it("keeps a device without a mark from giving ids, also after a reset", async () => {
    const o = await Origin.of(await newer());
    await tamper(o.factory, o.name, (t) => t.objectStore("marks").clear());
    await resetDatabase(o.tab());
    const st = await openDatabase(o.tab());
    await refused(st.reserve(st.device, 8, 0n), "corrupt");
    await st.close();
  });

  it("is not reset while a tab drains it, nor with the wrong key", async () => {
    const o = new Origin();
    const st = await openDatabase(o.tab({ key: await sealKey() }));
    await st.drain();
    await refused(resetDatabase(o.tab()), "wrong_key");
    await refused(resetDatabase(o.tab({ key: await sealKey() })), "draining");
    await st.close();
  });
});

describe("a database that is none of ours", () => {
  it.each(["open", "reset"])("is refused by %s, and nothing in it changes", async (what) => {
    const o = new Origin();
    (await open(o.factory, o.name, 7, (db) => db.createObjectStore("notes", { keyPath: "id" }).put({ id: 1 }))).close();
    const before = encode(await dump(o.factory, o.name));
    await refused(what === "open" ? openDatabase(o.tab()) : resetDatabase(o.tab()), "corrupt");
    expect(encode(await dump(o.factory, o.name))).toBe(before);
  });

  it("is not made by reset", async () => {
    const o = new Origin();
    await refused(resetDatabase(o.tab()), "corrupt");
    expect(await o.factory.databases()).toEqual([]);
  });

  it("but empty becomes a store", async () => {
    const o = new Origin();
    (await open(o.factory, o.name)).close();
    const st = await openDatabase(o.tab());
    expect(st.report.created).toBe(true);
    await add(st, entry("r", 1));
    await st.close();
  });
});

describe("C17 a damaged store", () => {
  it.each([
    ["head", (t: IDBTransaction) => t.objectStore("meta").delete("head")],
    ["count", (t: IDBTransaction) => change(t, { position: -1 })],
    ["counts", (t: IDBTransaction) => change(t, { rows: { queued: 1 } })],
    ["device", (t: IDBTransaction) => change(t, { device: new Uint8Array(15) })],
  ])("(%s) is refused, and nothing in it changes", async (_, f) => {
    const o = new Origin();
    await (await openDatabase(o.tab())).close();
    await tamper(o.factory, o.name, f);
    const before = encode(await dump(o.factory, o.name));
    for (let i = 0; i < 2; i++) await refused(openDatabase(o.tab()), "corrupt");
    expect(encode(await dump(o.factory, o.name))).toBe(before);
  });

  it("(a row that goes bad while open) is told of, and set aside by the next opening", async () => {
    const o = new Origin();
    const st = await openDatabase(o.tab());
    await add(st, entry("r", 1), entry("r", 2));
    await tamper(o.factory, o.name, (t) => t.objectStore("outbox").put({ position: 1, room: "r", id: "x" }));
    await refused(st.list(0, 10), "corrupt");
    await st.close();
    const again = await openDatabase(o.tab());
    expect([again.report.setAside, (await list(again)).length]).toEqual([1, 1]);
    expect(await aside(again)).toContain("text 1");
    await again.close();
  });
});

function change(t: IDBTransaction, to: object): void {
  const head = t.objectStore("meta").get("head");
  head.onsuccess = () => t.objectStore("meta").put({ ...head.result, ...to });
}
