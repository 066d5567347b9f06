import { describe, expect, it } from "vitest";
import { openDatabase } from "../../src/store/indexeddb.ts";
import { keyOf } from "../../src/tabs/key.ts";
import { dump, encode, tamper } from "../help/dump.ts";
import { sealKey } from "../help/key.ts";
import { Origin } from "../help/tab.ts";
import { add, apply, confirm, cursor, entry, equal, foreign, own, refused } from "./suite/suite.ts";

const state = async (o: Origin) => encode(await dump(o.factory, o.name));

/** A sealed store with rows and messages. */
async function sealed() {
  const o = new Origin();
  const key = await sealKey();
  const st = await openDatabase(o.tab({ key }));
  await add(st, entry("r", 1), entry("r", 2), entry("r", 3));
  const fence = await st.drain();
  await apply(st, fence, { kind: "snapshot", room: "r", cursor: cursor(2), messages: foreign("r", 1, 2), now: 1 });
  await apply(st, fence, confirm(entry("r", 3), 3));
  return { o, key, st, fence };
}

describe("a sealed store", () => {
  it("shows no text, data or fingerprint at rest", async () => {
    const { o, st } = await sealed();
    const at = await state(o);
    for (const plain of ["text 1", '{\\"n\\":1}', "v1:1", "row 1"]) expect(at).not.toContain(plain);
    await st.close();
  });

  it("opens with its key only, and nothing changes for another", async () => {
    const { o, key, st } = await sealed();
    await st.close();
    const before = await state(o);
    await refused(openDatabase(o.tab({ key: await sealKey("another key of 32 bytes, as good") })), "wrong_key");
    await refused(openDatabase(o.tab()), "wrong_key");
    expect(await state(o)).toBe(before);
    const again = await openDatabase(o.tab({ key }));
    expect((await again.body(1)).text).toBe(entry("r", 1).text);
    expect((await again.view("r", 0, 9)).map((m) => m.text)).toEqual(["row 1", "row 2", entry("r", 3).text]);
    await again.close();
  });

  it("settles own rows by fingerprints that another tab sealed", async () => {
    const { o, key, st, fence } = await sealed();
    const other = await openDatabase(o.tab({ key }));
    await add(other, entry("r", 7), entry("r", 8));
    const messages = [own(entry("r", 7), 3), { ...own(entry("r", 8), 4), fingerprint: "v1:other" }];
    const res = await apply(st, fence, { kind: "rows", room: "r", from: cursor(2), to: cursor(4), messages, now: 1 });
    equal("settled", [res.confirmed.length, res.conflicts.length], [1, 1]);
    await st.close();
    await other.close();
  });

  it("tells a body that was damaged or moved to another row, and keeps its bytes", async () => {
    const { o, st } = await sealed();
    await tamper(o.factory, o.name, (t) => {
      const bodies = t.objectStore("bodies");
      const one = bodies.get(1);
      one.onsuccess = () => bodies.put({ ...one.result, position: 2 });
    });
    expect((await st.body(1)).text).toBe(entry("r", 1).text);
    await refused(st.body(2), "unreadable");
    await refused(st.body(2), "no_row");
    expect(await st.counts()).toMatchObject({ queued: 1, setAside: 1 });
    const all = [];
    for await (const a of st.setAside()) all.push(a);
    expect(all[0]!.row).toContain('"sealed":{"base64":"');
    const left = [];
    for await (const [row] of st.export()) left.push(row.position);
    expect(left).toEqual([1]);
    await st.close();
  });

  it("sets a message aside that doesn't open, and shows the others", async () => {
    const { o, st } = await sealed();
    await tamper(o.factory, o.name, (t) => {
      const messages = t.objectStore("messages");
      const one = messages.get(["r", "m1"]);
      one.onsuccess = () => messages.put({ ...one.result, sealed: new Uint8Array(40) });
    });
    expect((await st.view("r", 0, 9)).map((m) => m.seq)).toEqual([2, 3]);
    expect((await st.counts()).setAside).toBe(1);
    await st.close();
  });
});

describe("a store that holds bodies in the clear, opened with a key", () => {
  it("takes none of them without the app's word, also where the key's check was taken away", async () => {
    const plain = new Origin();
    const st = await openDatabase(plain.tab());
    await add(st, entry("r", 1));
    await st.close();
    const { o, key, st: was } = await sealed();
    await was.close();
    await tamper(o.factory, o.name, (t) => {
      const head = t.objectStore("meta").get("head");
      head.onsuccess = () => {
        const { keyCheck: _, ...rest } = head.result;
        t.objectStore("meta").put(rest);
      };
      const forged = { text: "forged", data: "", position: 1 };
      t.objectStore("bodies").put(forged);
    });
    for (const origin of [plain, o]) {
      const before = await state(origin);
      await refused(openDatabase(origin.tab({ key })), "not_encrypted");
      expect(await state(origin)).toBe(before);
    }
  });

  it("sets a body in the clear aside that was put among sealed ones", async () => {
    const { o, key, st: was } = await sealed();
    await was.close();
    await tamper(o.factory, o.name, (t) => t.objectStore("bodies").put({ text: "forged", data: "", position: 1 }));
    const st = await openDatabase(o.tab({ key }));
    await refused(st.body(1), "unreadable");
    await st.close();
  });

  it("is sealed as a whole with `encrypt`, and a tab that has it open without the key is stopped", async () => {
    const o = new Origin();
    const plain = await openDatabase(o.tab());
    await add(plain, entry("r", 1));
    const st = await openDatabase(o.tab({ key: await sealKey(), encrypt: true }));
    expect(await state(o)).not.toContain("text 1");
    expect((await st.body(1)).text).toBe(entry("r", 1).text);
    await refused(plain.add(0, [entry("r", 2)]), "wrong_key");
    await plain.close();
    await st.close();
  });
});

describe("the key of a store", () => {
  it("is made once, can't be taken out, and a lost one opens nothing", async () => {
    const o = new Origin();
    const { env } = o.tab();
    const key = await keyOf(o.name, env);
    expect([key.extractable, [...key.usages].sort()]).toEqual([false, ["decrypt", "encrypt"]]);
    const st = await openDatabase(o.tab({ key }));
    await add(st, entry("r", 1));
    await st.close();
    const again = await openDatabase(o.tab({ key: await keyOf(o.name, env) }));
    expect((await again.body(1)).text).toBe(entry("r", 1).text);
    await again.close();
    const before = await state(o);
    await new Promise((resolve) => {
      o.factory.deleteDatabase(`${o.name}.key`).onsuccess = resolve;
    });
    await refused(openDatabase(o.tab({ key: await keyOf(o.name, env) })), "wrong_key");
    expect(await state(o)).toBe(before);
  });
});
