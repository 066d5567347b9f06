/** Signing out: nothing of what was said stays in the browser but what the reader wanted kept. */

import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import { Server } from "../harness/server.ts";

let chromium: Chromium;
let server: Server;
let page: Console;

beforeEach(async () => {
  server = await Server.start();
  chromium = await Chromium.start();
  page = await Console.open(chromium, server);
});
afterEach(async () => {
  await page?.close();
  await chromium?.close();
  await server?.close();
});

/** All that the browser keeps of the page: every value of every database, and both storages. */
const kept = (of: Page): Promise<string> =>
  of.evaluate(async () => {
    const done = <T>(r: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        r.onsuccess = () => resolve(r.result);
        r.onerror = () => reject(r.error);
      });
    const found: unknown[] = [{ ...localStorage }, { ...sessionStorage }];
    for (const { name } of await indexedDB.databases()) {
      const opening = indexedDB.open(name!);
      opening.onupgradeneeded = () => opening.transaction!.abort(); // deleted meanwhile: it isn't made anew
      const db = await done(opening).catch(() => undefined);
      if (db === undefined) continue;
      db.onversionchange = () => db.close();
      for (const table of [...db.objectStoreNames]) {
        found.push([name, table, await done(db.transaction(table).objectStore(table).getAll())]);
      }
      db.close();
    }
    return JSON.stringify(found);
  });

const signOut = (of: Page) => of.getByRole("button", { name: "Sign out" }).click();
const door = (of: Page) => of.getByLabel("Your name").waitFor();
const heard = "heard by ann";

/** Ann in a room in which something was said, offline, with two messages that wait and a text that she hasn't sent. */
async function withWaiting(): Promise<void> {
  await (await page.signIn("ann")).enter("milk");
  await page.composer.fill("half a thought");
  await page.enter("tea");
  await page.say(heard);
  await page.settled(1);
  page.relay.cut();
  await page.connection("Offline");
  await page.say("waits first");
  await page.say("waits second");
  await page.waiting(2);
  for (const text of [heard, "waits second", "half a thought"]) expect(await kept(page.page)).toContain(text);
  await signOut(page.page);
  await page.page
    .getByText("2 messages wait to be sent. Keep them on this device for your next sign-in, or delete them?")
    .waitFor();
}

it("a sign-out leaves nothing of what was received, and the next sign-in has it from the server", async () => {
  await (await page.signIn("ann")).enter("tea");
  await page.say(heard);
  await page.settled(1);
  await expect.poll(() => kept(page.page)).toContain(heard);
  await signOut(page.page);
  await door(page.page);
  await expect.poll(() => kept(page.page)).not.toContain("tea");
  await expect.poll(() => page.page.evaluate(async () => (await indexedDB.databases()).length)).toBe(0);
  expect(await page.page.title()).toBe("Hapax");
  await page.signIn("ann");
  expect((await page.settled(1)).map((l) => l.text)).toEqual([heard]);
});

it("what waits is asked about: kept, it alone stays, and goes with the next sign-in", async () => {
  await withWaiting();
  await page.page.getByText("didn't send is deleted either way").waitFor();
  await page.page.getByRole("button", { name: "Keep and sign out" }).click();
  await door(page.page);
  await expect.poll(() => kept(page.page)).not.toContain(heard);
  const left = await kept(page.page);
  expect(left).toMatch(/waits first.*waits second/);
  expect(left).not.toContain("half a thought");
  page.relay.mend();
  await page.signIn("ann");
  await page.online();
  expect((await page.settled(3)).map((l) => l.text)).toEqual([heard, "waits first", "waits second"]);
  expect((await server.history("tea", "ann")).map((m) => m.text)).toEqual([heard, "waits first", "waits second"]);
});

it("what waits is asked about: deleted, nothing stays and nothing is sent; and who stays signed in loses nothing", async () => {
  await withWaiting();
  await page.page.getByRole("button", { name: "Stay signed in" }).click();
  await page.waiting(2);
  await signOut(page.page);
  await page.page.getByRole("button", { name: "Delete and sign out" }).click();
  await door(page.page);
  await expect.poll(() => kept(page.page)).not.toMatch(/heard|waits|half/);
  page.relay.mend();
  await page.signIn("ann");
  await page.online();
  expect((await page.settled(1)).map((l) => l.text)).toEqual([heard]);
});

it("the actor's other tabs sign out too, and leave nothing either", async () => {
  await (await page.signIn("ann")).enter("tea");
  await page.say(heard);
  await page.settled(1);
  const other = await page.tab(chromium);
  await other.enter("tea");
  await other.settled(1);
  await signOut(other.page);
  await door(other.page);
  await door(page.page);
  await expect.poll(() => kept(page.page)).not.toMatch(/heard|tea/);
  await other.page.close();
});

it("a tab closed in the middle of a sign-out: the next sign-in page ends it", async () => {
  await page.page.addInitScript(() => {
    const request = LockManager.prototype.request;
    LockManager.prototype.request = function (this: LockManager, ...words: unknown[]) {
      if (String(words[0]).startsWith("hapax.wipe:")) return new Promise(() => undefined);
      return (request as (...w: unknown[]) => Promise<unknown>).apply(this, words);
    } as typeof request;
  });
  await page.page.reload();
  await (await page.signIn("ann")).enter("tea");
  await page.say(heard);
  await page.settled(1);
  await signOut(page.page);
  await door(page.page);
  expect(await kept(page.page)).toContain(heard);
  const next = await page.tab(chromium);
  await page.page.close();
  await door(next.page);
  await expect.poll(() => kept(next.page)).not.toMatch(/heard|tea/);
  await next.page.close();
});

it("a tab that was elsewhere during the sign-out comes back signed out, also with a token of its own", async () => {
  const token = await server.token("ann", "tea=rw");
  await (await page.signInByToken(token)).enter("tea");
  await page.say(heard);
  await page.settled(1);
  await page.page.goto("about:blank");
  const other = await page.at(chromium, page.relay.url);
  await (await other.signInByToken(token)).enter("tea");
  await other.settled(1);
  await signOut(other.page);
  await door(other.page);
  await page.page.goBack();
  await door(page.page);
  await expect.poll(() => kept(page.page)).not.toMatch(/heard|tea/);
  // Who signs in anew stays so.
  await page.signInByToken(token);
  await page.page.reload();
  await page.page.getByRole("navigation", { name: "Panels" }).waitFor();
  await other.page.close();
});

/** While `slow` is set, nothing in the page hears yet that a transaction is complete. */
const slowness = `{
  const prototype = IDBTransaction.prototype;
  const own = Object.getOwnPropertyDescriptor(prototype, "oncomplete");
  const late = [];
  globalThis.letGo = () => { globalThis.slow = false; for (const f of late.splice(0)) f(); };
  const ear = (f) => (e) => (globalThis.slow ? late.push(() => f.call(e.target, e)) : f.call(e.target, e));
  Object.defineProperty(prototype, "oncomplete", { ...own, set(f) { own.set.call(this, f && ear(f)); } });
  const add = prototype.addEventListener;
  prototype.addEventListener = function (type, f, how) { add.call(this, type, type === "complete" ? ear(f) : f, how); };
}`;

it("what is sent while the store is still at the message before it goes after that one, and what is written on stays", async () => {
  await page.page.addInitScript(slowness);
  await page.page.reload();
  await (await page.signIn("ann")).enter("tea");
  await page.connection("Online");
  await page.composer.focus();
  await page.page.evaluate("globalThis.slow = true");
  await page.page.keyboard.type("one\ntwo\nthree\nand on");
  await page.page.evaluate("letGo()");
  expect((await page.settled(3)).map((l) => l.text)).toEqual(["one", "two", "three"]);
  expect(await page.composer.inputValue()).toBe("and on");
  expect((await server.history("tea", "ann")).map((m) => m.text)).toEqual(["one", "two", "three"]);
});
