import type { Cursor, Store } from "../../../src/store/contract.ts";
import {
  add,
  apply,
  type Case,
  confirm,
  cursor,
  entry,
  equal,
  feed,
  foreign,
  list,
  own,
  refused,
  type Suite,
  seqs,
  step,
  view,
} from "./suite.ts";

const snapshot = (room: string, at: Cursor, messages = foreign(room, 1, 0), now = 0) =>
  ({ kind: "snapshot", room, cursor: at, messages, now }) as const;

const rows = (room: string, from: Cursor, to: Cursor, messages = foreign(room, from.after + 1, to.after), now = 0) =>
  ({ kind: "rows", room, from, to, messages, now }) as const;

/** The newest rows stay, and whoever reads from before those that went is told their seqs, however often they are asked for. */
async function roomBound(s: Suite) {
  const bound = { roomRows: 3, roomBytes: Infinity };
  const st = await s.open(bound);
  const trimmed = async (h: Store, room: string, after: number) => (await h.feed(room, after, 1000)).trimmed;
  const fence = await st.drain();
  await apply(st, fence, snapshot("r", cursor(0))); // position 1
  await apply(st, fence, snapshot("s", cursor(0))); // 2
  await apply(st, fence, rows("s", cursor(0), cursor(1)));
  await apply(st, fence, rows("r", cursor(0), cursor(3)));
  equal("nothing dropped yet", await trimmed(st, "", 0), []);
  await apply(st, fence, rows("r", cursor(3), cursor(5)));
  equal("feed", [await feed(st, "r", 0), await feed(st, "s", 0)], ["3@6 4@7 5@8 ", "1@3 "]);
  const want = { room: "r", position: 5, from: 1, to: 2 };
  for (const room of ["", "r"]) {
    equal("dropped", await trimmed(st, room, 4), [want]);
    equal("read before it was dropped", await trimmed(st, room, 5), []);
  }
  equal("asked for another room", await trimmed(st, "s", 0), []);
  await add(st, entry("q", 9)); // a change of this handle's own
  await apply(st, fence, rows("r", cursor(5), cursor(15)));
  const again = await s.afterCrash(bound);
  const later = { room: "r", position: 15, from: 1, to: 12 };
  equal("after a crash", await trimmed(again, "r", 0), [later]);
  equal("the room", await again.room("r"), { room: "r", cursor: cursor(15), replaced: 1, trimmed: later });
  const other = await s.open(bound);
  await other.forget("s"); // another handle's change: rooms are counted anew
  await apply(st, fence, snapshot("r", cursor(20), foreign("r", 16, 20)));
  equal("a snapshot", await view(st, "r"), "18@22 19@23 20@24 ");
  equal("dropped of it", await trimmed(st, "r", 0), [{ room: "r", position: 21, from: 16, to: 17 }]);
  await st.forget("r");
  equal("forgotten", await trimmed(st, "", 0), []);
  for (let n = 1; n < 7; n++) {
    const [row] = await add(st, entry("q", n));
    await apply(st, fence, confirm(row!, n));
  }
  equal("of acks alone", [await view(st, "q"), await trimmed(st, "", 0)], ["4@0 5@0 6@0 ", []]);
}

async function roomBytes(s: Suite) {
  const st = await s.open({ roomRows: Infinity, roomBytes: 5000 });
  const fence = await st.drain();
  const heavy = foreign("r", 1, 8).map((m) => ({ ...m, text: "x".repeat(1000) }));
  await apply(st, fence, snapshot("r", cursor(0)));
  await apply(st, fence, rows("r", cursor(0), cursor(8), heavy));
  const kept = await st.view("r", 0, 100);
  equal("kept", [kept.length, kept.at(-1)!.seq], [3, 8]);
  await apply(st, fence, rows("r", cursor(8), cursor(9), [{ ...foreign("r", 9, 9)[0]!, text: "x".repeat(9000) }]));
  equal(
    "never the newest",
    (await st.view("r", 0, 100)).map((m) => m.seq),
    [9],
  );
}

async function cursorMovesWithRows(s: Suite) {
  const st = await s.open();
  const fence = await st.drain();
  const early = await apply(st, fence, rows("r", cursor(0), cursor(1)));
  equal("rows without a view", [early.applied, early.cursor], [false, undefined]);
  await apply(st, fence, snapshot("r", cursor(0)));
  await apply(st, fence, snapshot("s", cursor(0)));
  let res = await apply(st, fence, rows("r", cursor(0), cursor(3)));
  equal("applied", [res.applied, res.cursor], [true, cursor(3)]);
  // A second delta that read the old cursor, as after a slow page, moves nothing.
  res = await apply(st, fence, rows("r", cursor(0), cursor(2)));
  equal("applied twice", [res.applied, res.cursor], [false, cursor(3)]);
  equal("empty delta", (await apply(st, fence, rows("r", cursor(3), cursor(3)))).applied, true);
  await apply(st, fence, rows("s", cursor(0), cursor(1)));
  await apply(st, fence, rows("r", cursor(3), cursor(4)));

  const again = await s.afterCrash();
  equal("feed", await feed(again, "", 0), "1@3 2@4 3@5 1@6 4@7 ");
  equal("feed of r after 4", await feed(again, "r", 4), "3@5 4@7 ");
  const page = (await again.feed("", 3, 2)).messages;
  equal("page", [seqs(page), page[0]!.text], ["2@4 3@5 ", "row 2"]);
  equal("no page", [(await again.feed("", 0, 0)).messages, await again.view("r", 0, 0)], [[], []]);
  equal("view before 4", seqs(await again.view("r", 4, 2)), "2@4 3@5 ");
  equal("room", await again.room("r"), { room: "r", cursor: cursor(4), replaced: 1 });
  equal("rooms", await again.rooms(), [
    { room: "r", cursor: cursor(4), replaced: 1 },
    { room: "s", cursor: cursor(1), replaced: 2 },
  ]);
}

/** An ack tells of row 3 while the cursor is at 1. It shows in the view, and comes through the feed in its order. */
async function ackAhead(s: Suite) {
  const st = await s.open();
  const fence = await st.drain();
  const row = (await add(st, entry("r", 1)))[0]!;
  await apply(st, fence, snapshot("r", cursor(1), foreign("r", 1, 1)));
  const res = await apply(st, fence, confirm(row, 3));
  equal("confirmed", [res.applied, res.row], [true, row]);
  equal("cursor after an ack", (await st.room("r"))!.cursor, cursor(1));
  equal("view and feed", [await view(st, "r"), await feed(st, "r", 0)], ["1@2 3@0 ", "1@2 "]);
  await apply(st, fence, rows("r", cursor(1), cursor(3), [...foreign("r", 2, 2), own(entry("r", 1), 3)], 9000));
  equal("view and feed", [await view(st, "r"), await feed(st, "r", 2)], ["1@2 2@3 3@4 ", "2@3 3@4 "]);
  equal("text", (await st.view("r", 0, 1))[0]!.text, entry("r", 1).text);
  // A duplicate's ack comes after its row: nothing doubles.
  await apply(st, fence, confirm((await add(st, entry("r", 1)))[0]!, 3));
  equal("view after a late ack", await view(st, "r"), "1@2 2@3 3@4 ");
}

async function snapshotReplaces(s: Suite) {
  const st = await s.open();
  const fence = await st.drain();
  const added = await add(st, entry("r", 1), entry("r", 2));
  await apply(st, fence, snapshot("r", cursor(3), foreign("r", 1, 3)));
  await apply(st, fence, confirm(added[0]!, 5));
  await apply(st, fence, confirm(added[1]!, 9));
  equal("view", await view(st, "r"), "1@2 2@3 3@4 5@0 9@0 ");
  const res = await apply(st, fence, snapshot("r", cursor(6), foreign("r", 3, 6)));
  equal("cursor", res.cursor, cursor(6));
  // 3 keeps its place, 5 gets one, 9 lies beyond the head and stays.
  equal("view", await view(st, "r"), "3@4 4@6 5@7 6@8 9@0 ");
  equal("feed after 4", await feed(st, "r", 4), "4@6 5@7 6@8 ");
  equal("replaced", (await st.room("r"))!.replaced, 5);
  // Another history: what isn't in it goes, also beyond its head; what is in it is not shown anew.
  const other = foreign("r", 4, 4).map((m) => ({ ...m, epoch: "f" }));
  await apply(st, fence, snapshot("r", { ...cursor(4), epoch: "f" }, other));
  equal("view", await view(st, "r"), "4@6 ");
  await apply(st, fence, snapshot("r", cursor(900))); // only sending: no rows asked for
  equal("empty view", await view(st, "r"), "");
}

async function ownRowsSettle(s: Suite) {
  const st = await s.open();
  const fence = await st.drain();
  const [e1, e2, e3] = [entry("r", 1), entry("r", 2), entry("r", 3)];
  const added = await add(st, e1, e2, e3);
  await apply(st, fence, step(added[2]!, "uncertain", { asideAt: 1 }));
  const elsewhere = (await add(st, entry("s", 1)))[0]!;
  const other = { ...own(e2, 2), fingerprint: "v1:other" };
  const res = await apply(st, fence, snapshot("r", cursor(3), [own(e1, 1), other, own(e3, 3)], 9500));
  equal(
    "confirmed",
    res.confirmed.map((r) => [r.position, r.state]),
    [
      [added[0]!.position, "queued"],
      [added[2]!.position, "uncertain"],
    ],
  );
  equal("conflicts", res.conflicts, [
    { ...added[1]!, state: "parked", reason: "id_conflict", asideAt: 9500, revision: 2 },
  ]);
  equal("left, and the same id in another room", await list(st), [res.conflicts[0], elsewhere]);
  equal("its text is kept", (await st.body(added[1]!.position)).text, e2.text);
  equal("conflicts of an empty delta", (await apply(st, fence, rows("r", cursor(3), cursor(3)))).conflicts, []);
  // Told of it again, it stays as it is.
  equal("conflicts again", (await apply(st, fence, snapshot("r", cursor(2), [other], 9600))).conflicts, []);
  equal("parked as it was", (await list(st))[0], res.conflicts[0]);
}

async function forget(s: Suite) {
  const st = await s.open();
  const fence = await st.drain();
  const row = (await add(st, entry("r", 1)))[0]!;
  for (const room of ["r", "s"]) await apply(st, fence, snapshot(room, cursor(2), foreign(room, 1, 2)));
  await st.forget("r");
  await st.forget("none");
  equal("cursor held", await st.room("r"), undefined);
  equal("rows", [await view(st, "r"), await feed(st, "", 0)], ["", "1@5 2@6 "]);
  equal("outbox", await list(st), [row]);
  await apply(st, fence, snapshot("r", cursor(1), foreign("r", 1, 1)));
  equal("positions go on", await feed(st, "r", 0), "1@8 ");
}

async function forgetAll(s: Suite) {
  const st = await s.open({ roomRows: 3, roomBytes: Infinity });
  const fence = await st.drain();
  const [ours, waits, parked] = await add(st, entry("r", 1), entry("r", 2), entry("s", 3));
  await apply(st, fence, step(parked!, "parked", { reason: "r", asideAt: 1 }));
  for (const room of ["r", "s"]) await apply(st, fence, snapshot(room, cursor(2), foreign(room, 1, 2)));
  await apply(st, fence, confirm(ours!, 4));
  const receipt = await st.receipt(entry("r", 1));
  await st.forget("");
  for (const h of [st, await s.afterCrash()]) {
    equal("views", [await h.rooms(), await view(h, "r"), await view(h, "s"), await feed(h, "", 0)], [[], "", "", ""]);
    equal(
      "outbox",
      (await list(h)).map((r) => [r.position, r.state]),
      [
        [waits!.position, "queued"],
        [parked!.position, "parked"],
      ],
    );
    equal("what waits is read", (await h.body(waits!.position)).text, entry("r", 2).text);
    equal("receipt", await h.receipt(entry("r", 1)), receipt);
  }
  await apply(st, fence, snapshot("r", cursor(4), foreign("r", 1, 4)));
  equal("bounds and positions go on", await view(st, "r"), "2@9 3@10 4@11 ");
}

async function changesOfOthers(s: Suite) {
  const [a, b] = [await s.open(), await s.open()];
  const changed = async (st: Store, want: boolean) => equal("changed", await st.changed(), want);
  await changed(a, false);
  await add(a, entry("r", 1));
  await changed(a, false); // its own
  await changed(b, true);
  await changed(b, false);
  await b.discard(entry("r", 1));
  await changed(a, true);
  await changed(b, false);
}

async function closed(s: Suite) {
  const st = await s.open();
  await st.drain();
  await st.close();
  await st.close();
  const k = entry("r", 1);
  const drained = async (i: AsyncIterable<unknown>) => {
    for await (const _ of i) throw new Error("it went through");
  };
  for (const call of [
    () => st.owner(),
    () => st.bind({ actor: "a", server: "s" }),
    () => st.reserve(st.device, 1, 0n),
    () => st.add(0, [k]),
    () => st.list(0, 1),
    () => st.find(k),
    () => st.body(1),
    () => drained(st.export()),
    () => drained(st.setAside()),
    () => st.counts(),
    () => st.cancel(k),
    () => st.retry(k, 1),
    () => st.discard(k),
    () => st.drain(),
    () => st.undrain(),
    () => st.apply(1, []),
    () => st.evict(1, 1),
    () => st.changed(),
    () => st.room("r"),
    () => st.rooms(),
    () => st.feed("", 0, 1),
    () => st.view("r", 0, 1),
    () => st.forget("r"),
  ]) {
    await refused(call(), "closed");
  }
}

export const views: readonly Case[] = [
  ["a room's bound", roomBound],
  ["a room's bound in bytes", roomBytes],
  ["the cursor moves with its rows", cursorMovesWithRows],
  ["an ack ahead of the cursor", ackAhead],
  ["a snapshot replaces", snapshotReplaces],
  ["C19 own rows settle", ownRowsSettle],
  ["forget", forget],
  ["forget all rooms at once", forgetAll],
  ["changes of others", changesOfOthers],
  ["closed", closed],
];
