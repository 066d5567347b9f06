/** A tab under whose hands a newer version of the app upgraded the store: it says what helps, once. */

import { expect, test } from "vitest";
import { openDatabase, resetDatabase } from "../../src/store/indexeddb.ts";
import { open, tamper } from "../help/dump.ts";
import { Origin } from "../help/tab.ts";
import { Rig } from "../support/rig.ts";

const upgraded = async (o: Origin) => {
  const version = (await o.factory.databases())[0]!.version!;
  (await open(o.factory, o.name, version + 1, (db) => db.createObjectStore("newer", { keyPath: "x" }))).close();
  await tamper(o.factory, o.name, (t) => {
    const head = t.objectStore("meta").get("head");
    head.onsuccess = () => t.objectStore("meta").put({ ...head.result, version: 99 });
  });
};

test.each([
  ["that sends", true],
  ["that follows", false],
] as const)("a tab %s is told to reload, once", async (_, sends) => {
  const rig = new Rig();
  const o = new Origin();
  const first = await rig.online({ store: await openDatabase(o.tab()) });
  const second = await rig.open({ store: await openDatabase(o.tab()) });
  await rig.time.pass(100);
  const { client, events } = sends ? first : second;
  for (let i = 0; i < 50 && !first.client.drains; i++) await rig.time.pass(100);
  expect(client.drains).toBe(sends);
  await upgraded(o);
  for (let i = 0; i < 10; i++) await rig.time.pass(1000);
  const id = client.nextMessageId();
  await expect(client.send("tea", id, { text: "x" })).rejects.toMatchObject({ code: "reload" });
  client.connect();
  for (let i = 0; i < 5; i++) await rig.time.pass(1000);
  await expect(client.send("tea", id, { text: "x" })).rejects.toMatchObject({ code: "reload" });
  expect(events.filter((e) => e.type === "failed")).toMatchObject([{ error: { code: "reload" } }]);
  await Promise.all([rig.time.wait(first.client.close(), 2000), rig.time.wait(second.client.close(), 2000)]);
});

test("a tab whose store was reset by another one is told to reload too", async () => {
  const o = new Origin();
  const st = await openDatabase(o.tab());
  await resetDatabase(o.tab());
  await expect(st.counts()).rejects.toMatchObject({ code: "reload" });
  await st.close();
});
