import type { Body, Row } from "../../../src/store/contract.ts";
import {
  add,
  apply,
  type Case,
  confirm,
  cursor,
  entry,
  equal,
  foreign,
  list,
  refused,
  type Suite,
  sending,
  sizeOf,
  step,
} from "./suite.ts";

async function rowsOutliveCrash(s: Suite) {
  const st = await s.open();
  await add(st, entry("r", 1), entry("r", 2), entry("s", 3));
  const again = await s.afterCrash();
  await add(again, entry("r", 4), entry("s", 5), entry("r", 6));
  const rows = await list(again);
  equal("rows", rows.length, 6);
  for (const [i, r] of rows.entries()) {
    const want = entry(r.room, i + 1);
    equal("row", [r.id, r.fingerprint, r.size, r.queuedAt], [want.id, want.fingerprint, sizeOf(want), want.queuedAt]);
    equal("body", await again.body(r.position), { text: want.text, data: want.data });
  }
}

async function zeroRefused(s: Suite) {
  const st = await s.open();
  for (const id of ["0".repeat(32), "", "a b", 'a"b', "a\\b", "é", "\x7f", "a".repeat(129)]) {
    // The good one beside it isn't stored either.
    await refused(st.add(0, [entry("r", 2), { ...entry("r", 1), id }]), "bad_change");
    await refused(st.cancel({ room: "r", id }), "no_row");
  }
  for (const room of ["", "é".repeat(65)]) await refused(st.add(0, [{ ...entry("r", 1), room }]), "bad_change");
  for (const bad of [
    { fingerprint: "" },
    { attempts: -1 },
    { interval: 0.5 },
    { firstSentAt: -1 },
    { queuedAt: Number.NaN },
  ]) {
    await refused(st.add(0, [{ ...entry("r", 1), ...bad }]), "bad_change");
  }
  equal("rows", (await list(st)).length, 0);
}

async function addingAgain(s: Suite) {
  const st = await s.open();
  const e = { ...entry("r", 1), data: "" };
  let row = (await add(st, e))[0]!;
  const twin = { ...entry("r", 1), room: "s" };
  const added = await st.add(0, [e, { ...e, fingerprint: "v1:other" }, twin, twin]);
  equal("the same", added[0], { outcome: "same", row });
  equal("other content", added[1], { outcome: "conflict", row });
  equal("in another room", added[2]!.outcome, "inserted");
  equal("twice in one call", added[3], { outcome: "same", row: added[2]!.row! });
  const fence = await st.drain();
  row = (await apply(st, fence, sending(row))).row!;
  row = (await apply(st, fence, step(row, "queued"))).row!;
  const due = await st.add(0, [{ ...e, dueNow: true }]);
  equal("due now", due[0], { outcome: "same", row: { ...row, interval: 0, revision: row.revision + 1 } });
  equal("body", await st.body(row.position), { text: e.text, data: "" });
}

async function receiptsOutliveMessages(s: Suite) {
  const st = await s.open();
  const [a, b] = await add(st, entry("r", 1), entry("r", 2), entry("r", 3));
  await st.bind({ actor: "anna", server: "s" });
  const fence = await st.drain();
  equal("none yet", await st.receipt(a!), undefined);
  await apply(st, fence, confirm(a!, 7));
  const own = { ...foreign("r", 1, 1)[0]!, actor: "anna", clientMessageId: b!.id, fingerprint: b!.fingerprint };
  await apply(st, fence, { kind: "snapshot", room: "r", cursor: cursor(1), messages: [own], now: 1 });
  await st.forget("r");
  const { room, epoch, messageId, at } = confirm(a!, 7);
  for (const h of [st, await s.afterCrash()]) {
    equal("by an ack", await h.receipt(a!), { room, id: a!.id, messageId, seq: 7, epoch, at });
    const want = { room: "r", id: b!.id, messageId: own.messageId, seq: 1, epoch: own.epoch, at: own.at };
    equal("by its own row", await h.receipt(b!), want);
    equal("of a row still there", await h.receipt(entry("r", 3)), undefined);
    equal("in another room", await h.receipt({ room: "s", id: a!.id }), undefined);
  }
}

async function fullOutbox(s: Suite) {
  const st = await s.open({ queued: 3 });
  let added = await st.add(0, [entry("r", 1), entry("r", 2), entry("r", 3), entry("r", 4)]);
  equal("third", added[2]!.outcome, "inserted");
  equal("fourth", added[3], { outcome: "full", row: undefined });
  added = await st.add(0, [entry("r", 5), entry("r", 1)]);
  equal("fifth", added[0]!.outcome, "full");
  equal("one that is there", added[1]!.outcome, "same");
  const row = (await list(st))[0]!;
  const fence = await st.drain();
  await apply(st, fence, sending(row)); // in flight still counts
  equal("with one in flight", (await st.add(0, [entry("r", 5)]))[0]!.outcome, "full");
  await apply(st, fence, confirm(row, 1));
  await add(st, entry("r", 5));
}

async function pagesAndPositions(s: Suite) {
  const st = await s.open();
  const want: Row[] = [];
  for (let n = 1; n <= 25; n++) want.push(...(await add(st, entry("r", n))));
  const got: Row[] = [];
  for (let after = 0; ; after = got.at(-1)!.position) {
    const page = await st.list(after, 10);
    got.push(...page);
    if (page.length === 0) break;
  }
  equal("pages", got, want);
  equal("no page", await st.list(0, 0), []);
  const last = want.at(-1)!;
  await st.discard(last);
  const again = await s.afterCrash();
  const next = (await add(again, entry("r", 25)))[0]!;
  if (next.position <= last.position) throw new Error(`position ${next.position} was given before`);
  equal("row", await again.find(want[3]!), want[3]);
  equal("found none", await again.find({ room: "r", id: "none" }), undefined);
  await refused(again.body(last.position), "no_row");
}

async function exported(s: Suite) {
  const st = await s.open();
  await add(st, ...Array.from({ length: 150 }, (_, n) => entry("r", n + 1)));
  const got: [string, Body][] = [];
  for await (const [row, body] of st.export()) got.push([row.id, body]);
  equal("rows", got.length, 150);
  for (const [i, [id, body]] of got.entries()) {
    const e = entry("r", i + 1);
    equal("row", [id, body.text, body.data], [e.id, e.text, e.data]);
  }
  for await (const [row] of st.export()) {
    await st.discard(row); // an export left early holds nothing up
    break;
  }
  equal("left", (await list(st)).length, 149);
}

async function outsideChanges(s: Suite) {
  const [st, out] = [await s.open(), await s.open()];
  const rows = await add(st, entry("r", 1), entry("r", 2), entry("r", 3), entry("r", 4), entry("r", 5));
  const fence = await st.drain();
  const none = { room: "r", id: "none" };
  for (const work of [out.cancel(none), out.retry(none, 1), out.discard(none)]) await refused(work, "no_row");
  equal("cancelled", await out.cancel(rows[0]!), rows[0]);

  const sent = (await apply(st, fence, sending(rows[1]!))).row!;
  await refused(out.cancel(sent), "may_have_been_sent");
  await refused(out.retry(sent, 1), "in_flight");
  const parked = (await apply(st, fence, step(sent, "parked", { reason: "too_large", asideAt: 8000 }))).row!;
  await refused(out.cancel(parked), "may_have_been_sent");
  const zero = { attempts: 0, interval: 0, lastAttemptAt: 0, reason: "", asideAt: 0 };
  equal("retried", await out.retry(parked, 0), { ...parked, ...zero, state: "queued", revision: parked.revision + 1 });

  const doubt = (await apply(st, fence, step(rows[2]!, "uncertain", { asideAt: 8000 }))).row!;
  await refused(out.retry(doubt, 0), "bad_change");
  const again = await out.retry(doubt, 8500);
  equal("retried as of", [again.firstSentAt, again.state], [8500, "queued"]);

  await apply(st, fence, sending(rows[3]!));
  for (const r of [rows[3]!, rows[4]!]) await out.discard(r);
  equal("left", (await list(st)).length, 2);
  // None of it is brought back by what the drainer remembers.
  for (const r of rows)
    equal("applied to a row changed meanwhile", (await apply(st, fence, sending(r))).applied, false);
  equal("left after late steps", (await list(st)).length, 2);
}

export const outbox: readonly Case[] = [
  ["C03 rows outlive a crash", rowsOutliveCrash],
  ["C04 id zero is refused", zeroRefused],
  ["adding the same again", addingAgain],
  ["a full outbox", fullOutbox],
  ["a receipt outlives its message", receiptsOutliveMessages],
  ["pages and positions", pagesAndPositions],
  ["export", exported],
  ["cancel, retry, discard", outsideChanges],
];
